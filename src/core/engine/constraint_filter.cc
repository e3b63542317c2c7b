#include "core/engine/constraint_filter.h"

#include <algorithm>
#include <array>

namespace stowage::core {
namespace {

// Weights of the kinds of preferences after scaling; the proportions are those of kube-scheduler's
// default profile.
constexpr std::int64_t kTaintWeight = 3;
constexpr std::int64_t kNodeWeight = 2;
constexpr std::int64_t kPodWeight = 2;
constexpr std::int64_t kSpreadWeight = 2;
constexpr std::int64_t kScale = 100;

// Scales raw scores to 0..kScale (larger is better) and adds them to the total.
void add_scaled(const std::vector<std::int64_t>& raw, std::int64_t weight,
                std::vector<std::int64_t>& sum) {
  const auto [least, most] = std::minmax_element(raw.begin(), raw.end());
  const std::int64_t range = *most - *least;
  if (range == 0) return;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    sum[i] += weight * ((raw[i] - *least) * kScale / range);
  }
}

std::int64_t liked_by_rules(const NodeRules& rules, const NodeSpec& node) {
  std::int64_t sum = 0;
  for (const PreferredNodes& preferred : rules.preferred) {
    if (matches(preferred.term, node.name, node.labels)) sum += preferred.weight;
  }
  return sum;
}

std::int64_t disliked_taints(const NodeRules& rules, const NodeSpec& node) {
  return std::count_if(node.taints.begin(), node.taints.end(), [&](const Taint& taint) {
    return taint.effect == TaintEffect::prefer_no_schedule && !tolerates(rules.tolerations, taint);
  });
}

}  // namespace

ConstraintFilter::ConstraintFilter(const PodSpec& pod, const State& state)
    : pod_(&pod), state_(state) {
  if (pod.cards_only) return;
  affinity_ = state.affinity->filter(pod);
  if (!pod.constraints.claims.empty() || !pod.constraints.disks.empty())
    needs_ = state.volumes->look_up(pod);
  rules_ = affinity_.any() || needs_.any();
}

void ConstraintFilter::Removed::take(PodIndex pod) {
  if (!filter_.rules_) return;
  if (filter_.affinity_.any()) affinity_.take(pod);
  if (filter_.needs_.any()) uids_.insert(filter_.state_.ledger->pods().record(pod).uid);
}

void ConstraintFilter::Removed::put_back(PodIndex pod) {
  if (!filter_.rules_) return;
  if (filter_.affinity_.any()) affinity_.put_back(pod);
  if (filter_.needs_.any()) uids_.erase(filter_.state_.ledger->pods().record(pod).uid);
}

ReasonCode ConstraintFilter::check(NodeIndex node, const Removed* removed) const {
  if (!rules_) return ReasonCode::none;
  const ReasonCode neighbours =
      affinity_.any() ? affinity_.check(node, removed == nullptr ? nullptr : &removed->affinity_)
                      : ReasonCode::none;
  if (neighbours == ReasonCode::host_port || !needs_.any()) return neighbours;
  const NodeSpec& spec = state_.ledger->nodes().spec(node);
  const VolumeFilter filter = state_.volumes->filter();
  const ReasonCode volumes =
      removed == nullptr ? filter.check(needs_, spec) : filter.check(needs_, spec, removed->uids_);
  return volumes != ReasonCode::none ? volumes : neighbours;
}

bool ConstraintFilter::claim_taken() const {
  return needs_.any() && state_.volumes->users().claim_taken(needs_);
}

std::vector<ClaimStep> ConstraintFilter::claims_on(NodeIndex node) const {
  if (!needs_.any()) return {};
  return state_.volumes->filter().plan(needs_, state_.ledger->nodes().spec(node));
}

bool ConstraintFilter::prefers() const {
  if (pod_->cards_only) return false;
  return !pod_->rules.preferred.empty() || affinity_.prefers() ||
         state_.ledger->nodes().soft_taints() > 0;
}

NodeIndex ConstraintFilter::most_preferred(const std::vector<NodeIndex>& nodes) const {
  std::array<std::vector<std::int64_t>, 4> raw;
  for (auto& list : raw) list.reserve(nodes.size());
  for (const NodeIndex node : nodes) {
    const NodeSpec& spec = state_.ledger->nodes().spec(node);
    raw[0].push_back(-disliked_taints(pod_->rules, spec));
    raw[1].push_back(liked_by_rules(pod_->rules, spec));
    raw[2].push_back(affinity_.preference_score(node));
    raw[3].push_back(-affinity_.spread_score(node));
  }
  std::vector<std::int64_t> sum(nodes.size(), 0);
  add_scaled(raw[0], kTaintWeight, sum);
  add_scaled(raw[1], kNodeWeight, sum);
  add_scaled(raw[2], kPodWeight, sum);
  add_scaled(raw[3], kSpreadWeight, sum);
  const auto best = std::max_element(sum.begin(), sum.end());
  return nodes[static_cast<std::size_t>(best - sum.begin())];
}

bool resolvable(ReasonCode code) {
  switch (code) {
    case ReasonCode::cards:
    case ReasonCode::card_milli:
    case ReasonCode::card_memory:
    case ReasonCode::card_slots:
    case ReasonCode::numa:
    case ReasonCode::link:
    case ReasonCode::search:
    case ReasonCode::held_back:
    case ReasonCode::cpu:
    case ReasonCode::memory:
    case ReasonCode::ephemeral:
    case ReasonCode::pods:
    case ReasonCode::extended:
    case ReasonCode::host_port:
    case ReasonCode::pod_anti_affinity:
    case ReasonCode::others_anti_affinity:
    case ReasonCode::spread:
    case ReasonCode::volume_limit:
    case ReasonCode::volume_in_use: return true;
    case ReasonCode::none:
    case ReasonCode::not_schedulable:
    case ReasonCode::taint:
    case ReasonCode::node_affinity:
    case ReasonCode::no_cards:
    case ReasonCode::not_offered:
    case ReasonCode::plugin:
    case ReasonCode::model_mismatch:
    case ReasonCode::quota:
    case ReasonCode::id_mismatch:
    case ReasonCode::unhealthy:
    case ReasonCode::pod_affinity:
    case ReasonCode::spread_label:
    case ReasonCode::claim:
    case ReasonCode::volume_node:
    case ReasonCode::volume_none: return false;
  }
  return false;
}

}  // namespace stowage::core
