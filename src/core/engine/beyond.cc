#include "core/engine/beyond.h"

#include <algorithm>
#include <array>

namespace stowage::core {
namespace {

// How much each kind of preference weighs, once brought to one scale; the proportions of
// kube-scheduler's default profile.
constexpr std::int64_t kTaintWeight = 3;
constexpr std::int64_t kNodeWeight = 2;
constexpr std::int64_t kPodWeight = 2;
constexpr std::int64_t kSpreadWeight = 2;
constexpr std::int64_t kScale = 100;

// Brings raw scores to 0..kScale, larger is better, and adds them.
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

Beyond::Beyond(const PodSpec& pod, const World& world) : pod_(&pod), world_(world) {
  if (pod.cards_only) return;
  peers_ = world.peers->test(pod);
  if (!pod.around.claims.empty() || !pod.around.disks.empty()) {
    needs_ = world.volumes->look_up(pod);
  }
  rules_ = peers_.any() || needs_.any();
}

void Beyond::Removed::take(PodIndex pod) {
  if (!beyond_.rules_) return;
  if (beyond_.peers_.any()) peers_.take(pod);
  if (beyond_.needs_.any()) uids_.insert(beyond_.world_.ledger->pod(pod).uid);
}

void Beyond::Removed::put_back(PodIndex pod) {
  if (!beyond_.rules_) return;
  if (beyond_.peers_.any()) peers_.put_back(pod);
  if (beyond_.needs_.any()) uids_.erase(beyond_.world_.ledger->pod(pod).uid);
}

ReasonCode Beyond::check(NodeIndex node, const Removed* removed) const {
  if (!rules_) return ReasonCode::none;
  const ReasonCode neighbours =
      peers_.any() ? peers_.check(node, removed == nullptr ? nullptr : &removed->peers_)
                   : ReasonCode::none;
  if (neighbours == ReasonCode::host_port || !needs_.any()) return neighbours;
  const NodeSpec& spec = world_.ledger->spec(node);
  const VolumeFilter filter = world_.volumes->filter();
  const ReasonCode volumes =
      removed == nullptr ? filter.check(needs_, spec) : filter.check(needs_, spec, removed->uids_);
  return volumes != ReasonCode::none ? volumes : neighbours;
}

bool Beyond::claim_taken() const {
  return needs_.any() && world_.volumes->users().claim_taken(needs_);
}

std::vector<ClaimStep> Beyond::claims_on(NodeIndex node) const {
  if (!needs_.any()) return {};
  return world_.volumes->filter().plan(needs_, world_.ledger->spec(node));
}

bool Beyond::prefers() const {
  if (pod_->cards_only) return false;
  return !pod_->rules.preferred.empty() || peers_.wishes() || world_.ledger->soft_taints() > 0;
}

NodeIndex Beyond::finest(const std::vector<NodeIndex>& nodes) const {
  std::array<std::vector<std::int64_t>, 4> raw;
  for (auto& list : raw) list.reserve(nodes.size());
  for (const NodeIndex node : nodes) {
    const NodeSpec& spec = world_.ledger->spec(node);
    raw[0].push_back(-disliked_taints(pod_->rules, spec));
    raw[1].push_back(liked_by_rules(pod_->rules, spec));
    raw[2].push_back(peers_.liking(node));
    raw[3].push_back(-peers_.crowd(node));
  }
  std::vector<std::int64_t> sum(nodes.size(), 0);
  add_scaled(raw[0], kTaintWeight, sum);
  add_scaled(raw[1], kNodeWeight, sum);
  add_scaled(raw[2], kPodWeight, sum);
  add_scaled(raw[3], kSpreadWeight, sum);
  const auto best = std::max_element(sum.begin(), sum.end());
  return nodes[static_cast<std::size_t>(best - sum.begin())];
}

bool curable(ReasonCode code) {
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
    default: return false;
  }
}

}  // namespace stowage::core
