#include "core/engine/preemption_planner.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>

#include "base/check.h"
#include "core/engine/waiting.h"

namespace stowage::core {
namespace {

constexpr std::size_t kNodesToTry = 48;
constexpr std::size_t kOthersPerLook = 32;  // anti-affinity terms of other pods
constexpr std::size_t kPartsPerLook = 4;    // containers with cards
constexpr int kBudgetsPerNamespace = 32;    // most disruption budgets that are considered

std::int64_t footprint_of(const PodRecord& pod) {
  std::int64_t milli = std::int64_t{pod.unnamed.whole} * kMilliPerCard + pod.unnamed.shared_milli;
  for (const CardCharge& charge : pod.charges) milli += charge.milli;
  return milli;
}

}  // namespace

// A candidate node, by a quick estimate of the least that must be evicted.
struct PreemptionPlanner::Candidate {
  std::int32_t top = 0;  // highest priority among the pods that must be evicted
  std::int32_t pods = 0;
  std::uint32_t rank = 0;
  NodeIndex node;
  [[nodiscard]] auto key() const { return std::tuple(top, pods, rank); }
};

bool PreemptionPlanner::selects(const Budget& budget, const Labels& labels) {
  const auto [at, fresh] = selected_.try_emplace({&labels, &budget}, false);
  if (fresh) at->second = matches(budget.selector, labels);
  return at->second;
}

std::vector<std::uint8_t> PreemptionPlanner::breaks_budget(const std::vector<PodIndex>& pods) {
  std::vector<std::uint8_t> breaks(pods.size(), 0);
  std::map<const Budget*, std::int64_t> left;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const PodRecord& record = view_.ledger.pods().record(pods[i]);
    const Labels* labels = view_.affinity.labels_of(pods[i]);
    if (labels == nullptr || labels->empty()) continue;
    const std::string_view ns = namespace_of(record.name);
    const std::string_view name = std::string_view(record.name).substr(ns.size() + 1);
    auto at = view_.budgets.lower_bound(std::string(ns) + '/');
    for (int look = 0; look < kBudgetsPerNamespace && at != view_.budgets.end(); ++look, ++at) {
      const Budget& budget = at->second;
      if (namespace_of(at->first) != ns) break;
      if (budget.selector.all.empty() || !selects(budget, *labels)) continue;
      if (std::find(budget.disrupted.begin(), budget.disrupted.end(), name) !=
          budget.disrupted.end()) {
        continue;  // its disruption is already counted
      }
      if (--left.try_emplace(&budget, budget.allowed).first->second < 0) breaks[i] = 1;
    }
  }
  return breaks;
}

// A nomination of a less important pod can always be taken; pods are evicted only if enabled.
bool PreemptionPlanner::may_evict(const PodSpec& pod, const PodRecord& other) const {
  if (other.state == PodState::nomination) return true;
  return view_.evicts && !pod.never_preempts && !other.stays && other.state != PodState::reserved;
}

PotentialVictims PreemptionPlanner::less_important(const PodSpec& pod, NodeIndex node) {
  PotentialVictims found;
  for (const PodIndex there : view_.ledger.nodes().pods_on(node)) {
    const PodRecord& record = view_.ledger.pods().record(there);
    if (record.uid == pod.uid) continue;
    if (record.leaving) {
      if (view_.waits) found.leaving.push_back(there);
    } else if (record.priority < pod.priority && may_evict(pod, record)) {
      found.pods.push_back(there);
    }
  }
  // Pods to keep come first: more important, then smaller (so that few must be evicted), then
  // older.
  std::sort(found.pods.begin(), found.pods.end(), [&](PodIndex a, PodIndex b) {
    const auto key = [&](PodIndex p) {
      const PodRecord& r = view_.ledger.pods().record(p);
      return std::tuple(r.state == PodState::nomination, -std::int64_t{r.priority}, footprint_of(r),
                        r.since, std::string_view(r.uid));
    };
    return key(a) < key(b);
  });
  const std::vector<std::uint8_t> breaks = breaks_budget(found.pods);
  std::vector<PodIndex> ordered;
  for (const bool wanted : {true, false}) {
    for (std::size_t i = 0; i < found.pods.size(); ++i) {
      if ((breaks[i] != 0) == wanted) ordered.push_back(found.pods[i]);
    }
  }
  found.pods = std::move(ordered);
  return found;
}

std::optional<VictimPlan> PreemptionPlanner::on_node(const Preemptor& preemptor, NodeIndex node,
                                                     const PotentialVictims& potential) {
  const PolicyOptions any{.choice = {.node = NodePolicy::first, .card = CardPolicy::first}};
  const Shape& shape = preemptor.shape;
  std::vector<PodIndex> gone = potential.pods;
  gone.insert(gone.end(), potential.leaving.begin(), potential.leaving.end());
  std::vector<PodIndex> kept;  // nominations that stay: they count with their full target
  for (const PodIndex other : view_.ledger.nodes().pods_on(node)) {
    if (view_.ledger.pods().record(other).state != PodState::nomination) continue;
    if (std::find(gone.begin(), gone.end(), other) == gone.end()) kept.push_back(other);
  }
  gone.insert(gone.end(), kept.begin(), kept.end());
  Ledger alone = view_.ledger.without(node, gone);
  const NodeIndex there = alone.nodes().find(view_.ledger.nodes().name(node));
  const auto put = [&](PodIndex pod) {
    return alone.put(view_.nominations.when_complete(view_.ledger.pods().record(pod)), there);
  };
  for (const PodIndex room : kept) put(room);
  Placement placement;
  const auto has_room = [&] {
    const JudgeContext context{.ledger = &alone, .options = &any, .search = &view_.search};
    return judge(context, shape, there, &placement).reason.code == ReasonCode::none;
  };
  if (!has_room() || !preemptor.constraint_filter.trouble().empty()) return std::nullopt;
  ConstraintFilter::Removed removed(preemptor.constraint_filter);
  const auto take = [&](PodIndex pod) {
    removed.take(pod);
    taken_.push_back(pod);
  };
  for (const PodIndex pod : gone) take(pod);
  const auto allowed = [&] { return removed.check(node) == ReasonCode::none; };
  if (!allowed()) return std::nullopt;
  VictimPlan plan{.node = node,
                  .others_leave = !potential.leaving.empty(),
                  .rank = view_.ledger.nodes().order().rank(node)};
  const auto spare = [&](PodIndex pod) {
    const PodIndex back = put(pod);
    removed.put_back(pod);
    if (has_room() && allowed()) return true;
    alone.release(back);
    take(pod);
    return false;
  };
  for (const PodIndex pod : potential.pods) {
    if (spare(pod)) continue;
    if (view_.search.cut) return std::nullopt;  // it may not have to be evicted
    plan.victims.push_back(pod);
  }
  // A pod with unknown cards may be on any idle card. It is in the way less once other pods are
  // back, so it is tried again.
  std::erase_if(plan.victims, [&](PodIndex pod) {
    return view_.ledger.pods().record(pod).unnamed.whole > 0 && spare(pod);
  });
  if (!has_room()) {
    STOWAGE_CHECK(view_.search.cut);
    return std::nullopt;
  }
  plan.cards = to_assignment(alone, shape, there, placement, preemptor.pod.containers.size());
  weigh(plan);
  return plan;
}

void PreemptionPlanner::weigh(VictimPlan& plan) {
  constexpr auto kNever = std::numeric_limits<std::int64_t>::max();
  plan.top = std::numeric_limits<std::int32_t>::min();
  plan.newest = kNever;
  const std::vector<std::uint8_t> breaks = breaks_budget(plan.victims);
  for (std::size_t i = 0; i < plan.victims.size(); ++i) {
    const PodRecord& record = view_.ledger.pods().record(plan.victims[i]);
    if (record.state == PodState::nomination) continue;
    ++plan.evictions;
    plan.violations += breaks[i];
    plan.sum += std::int64_t{record.priority} - std::numeric_limits<std::int32_t>::min();
    if (record.priority > plan.top) plan.newest = kNever;
    plan.top = std::max(plan.top, record.priority);
    if (record.priority == plan.top) plan.newest = std::min(plan.newest, record.since);
  }
}

// Nodes with pods of lower priority that could be evicted, the best candidates first.
std::vector<PreemptionPlanner::Candidate> PreemptionPlanner::candidates(
    const Preemptor& preemptor, const std::vector<NodeIndex>& nodes) const {
  std::vector<Candidate> all;
  std::vector<std::pair<std::int32_t, std::int64_t>> lower;  // priority and compute
  for (const NodeIndex node : nodes) {
    lower.clear();
    std::int64_t leaving = 0;
    for (const PodIndex pod : view_.ledger.nodes().pods_on(node)) {
      const PodRecord& record = view_.ledger.pods().record(pod);
      if (record.leaving) {
        leaving += view_.waits ? footprint_of(record) : 0;
      } else if (record.priority < preemptor.pod.priority && may_evict(preemptor.pod, record)) {
        lower.emplace_back(record.priority, footprint_of(record));
      }
    }
    if (lower.empty()) continue;
    std::sort(lower.begin(), lower.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    std::int64_t free = leaving;
    for (const CardState& card : view_.ledger.nodes().cards(node)) free += card.milli_free;
    Candidate candidate{.top = lower.front().first,
                        .pods = 1,
                        .rank = view_.ledger.nodes().order().rank(node),
                        .node = node};
    free += lower.front().second;
    for (std::size_t i = 1; i < lower.size() && free < preemptor.shape.gpu_milli; ++i) {
      free += lower[i].second;
      candidate.top = lower[i].first;
      ++candidate.pods;
    }
    if (free >= preemptor.shape.gpu_milli) all.push_back(candidate);
  }
  const auto few = all.begin() + static_cast<std::ptrdiff_t>(std::min(kNodesToTry, all.size()));
  std::partial_sort(all.begin(), few, all.end(),
                    [](const Candidate& a, const Candidate& b) { return a.key() < b.key(); });
  return all;
}

// A pod with long rules or many containers costs more per node, so fewer nodes are tried.
PreemptionPlanner::NodeLimits PreemptionPlanner::limits(const Preemptor& preemptor) {
  const std::size_t cost = static_cast<std::size_t>(Waiting::try_cost(preemptor.pod)) +
                           preemptor.constraint_filter.others() / kOthersPerLook +
                           preemptor.shape.parts.size() / kPartsPerLook;
  const std::size_t best = std::max<std::size_t>(kNodesToTry / cost, 1);
  return {.best = best, .in_vain = (cost > 1 ? 2 : 8) * best};
}

std::optional<VictimPlan> PreemptionPlanner::cheapest(const Preemptor& preemptor,
                                                      const std::vector<NodeIndex>& nodes) {
  std::optional<VictimPlan> best;
  std::size_t tried = 0;
  const NodeLimits most = limits(preemptor);
  for (const Candidate& candidate : candidates(preemptor, nodes)) {
    // After the best candidates, only until a plan is found.
    if (++tried > most.best && best) break;
    if (tried > most.in_vain) break;
    auto plan = on_node(preemptor, candidate.node, less_important(preemptor.pod, candidate.node));
    if (plan && (!best || plan->price() < best->price())) best = std::move(plan);
  }
  return best;
}

}  // namespace stowage::core
