#include "core/engine/planner_table.h"

#include <algorithm>
#include <utility>

namespace stowage::core {
namespace {

constexpr std::size_t kWishKeys = std::size_t{1} << 20U;  // for the rankings of each planner

}  // namespace

PlannerTable::PlannerTable(std::vector<PolicyOptions> profiles, const Shared& shared)
    : shared_(shared), profiles_(profiles.size()) {
  for (auto& policy : profiles) make(std::move(policy), ShapeCache::kMaxKeys);
}

void PlannerTable::make(PolicyOptions options, std::size_t keys) {
  planners_.push_back(
      std::make_unique<Planner>(shared_.ledger, std::move(options), keys, &shared_.search));
  shared_.loads.choice_options(planners_.back()->options().choice);
}

Planner& PlannerTable::of(const PodSpec& pod) {
  Planner& own = *planners_[pod.profile];
  if (!pod.wish.any()) return own;
  PolicyOptions options = own.options();
  options.choice.node = pod.wish.node.value_or(options.choice.node);
  options.choice.card = pod.wish.card.value_or(options.choice.card);
  options.profile_weights = options.profile_weights || pod.wish.weighted;
  if (options.choice == own.options().choice &&
      options.profile_weights == own.options().profile_weights) {
    return own;
  }
  const WishKey key{pod.profile, options.choice.node, options.choice.card, options.profile_weights};
  const auto [at, fresh] = wishes_.try_emplace(key, Wish{.at = planners_.size()});
  if (fresh) make(std::move(options), kWishKeys);
  at->second.asked = ++asked_;
  return *planners_[at->second.at];
}

void PlannerTable::forget_unused() {
  while (planners_.size() > profiles_ + kWishPlanners) {
    const auto oldest = std::min_element(
        wishes_.begin(), wishes_.end(),
        [](const auto& a, const auto& b) { return a.second.asked < b.second.asked; });
    const std::size_t gap = oldest->second.at;
    wishes_.erase(oldest);
    planners_[gap] = std::move(planners_.back());
    planners_.pop_back();
    for (auto& [key, wish] : wishes_) {
      if (wish.at == planners_.size()) wish.at = gap;
    }
  }
}

void PlannerTable::teach(Planner& planner, const PodSpec& pod, PodIndex placed,
                         Planner::Try which) {
  if (!planner.learns()) return;
  const std::uint32_t kind = planner.arrived(planner.entry_for(pod), which);
  if (placed.valid()) planner.accepted(placed, kind);
}

void PlannerTable::teach_others(const PodSpec& pod, PodIndex placed, Planner::Try which) {
  if (planners_.size() == 1) return;
  const Planner* own = &of(pod);
  for (std::size_t i = 0; i < profiles_; ++i) {
    if (planners_[i].get() != own) teach(*planners_[i], pod, placed, which);
  }
}

void PlannerTable::teach_all(const PodSpec& pod, PodIndex placed) {
  for (std::size_t i = 0; i < profiles_; ++i) {
    teach(*planners_[i], pod, placed, Planner::Try::first);
  }
}

void PlannerTable::departed(PodIndex pod) {
  for (auto& planner : planners_) planner->departed(pod);
}

std::uint64_t PlannerTable::effort() const {
  std::uint64_t sum = 0;
  for (const auto& planner : planners_) sum += planner->cache().effort();
  return sum;
}

PlannerTable::Totals PlannerTable::totals() const {
  Totals totals;
  for (const auto& planner : planners_) {
    totals.judged += planner->cache().judged();
    totals.models_learned += planner->models_learned();
    totals.shapes += planner->cache().size();
  }
  return totals;
}

}  // namespace stowage::core
