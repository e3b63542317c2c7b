// When nominations are made, when nominated pods are tried, and when nominations end.
#include <algorithm>
#include <bit>
#include <set>
#include <string_view>

#include "core/engine/requeuer.h"

namespace stowage::core {

// Most urgent first. Each pod is tried with its own nominated capacity free. If it must wait
// longer, its nomination keeps all that is free of its target.
void Requeuer::serve_nominated(NodeIndex node) {
  if (state_.nominations.empty()) return;
  Line line;
  const std::string& name = ledger_.nodes().name(node);
  for (const auto& [uid, nomination] : state_.nominations.all()) {
    if (nomination.node != name) continue;
    const std::uint64_t arrival = waiting_.arrival_of(uid).value_or(0);
    line.emplace(
        Waiting::Position{.urgency = -std::int64_t{nomination.pod.priority}, .arrival = arrival},
        uid);
  }
  serve_line(node, line);
}

void Requeuer::serve_line(NodeIndex node, const Line& line) {
  for (auto at = line.begin(); at != line.end(); ++at) {
    if (deferring())
      return deferred_.defer(
          {.kind = Step::Kind::nominations, .node = node, .line = {at, line.end()}});
    const auto& [place_in_line, uid] = *at;
    if (state_.nominations.find(uid) == nullptr) continue;
    const PodSpec* parked = waiting_.parked(uid);
    if (parked == nullptr) {  // placed by another scheduler: keep all that is available
      state_.nominations.lift(uid);
      state_.nominations.keep(uid);
      continue;
    }
    const PodSpec pod = *parked;
    place(pod, place_in_line.arrival, Planner::Try::again);
  }
}

void Requeuer::expire_nominations() {
  for (const auto& uid : state_.nominations.expired(state_.now)) {
    state_.refused_at.insert_or_assign(uid, state_.now);  // other waiting pods get a turn first
    const NodeIndex node = state_.nominations.close(uid, state_.out);
    if (node.valid()) wake(node);
  }
}

Waiting::Group* Requeuer::longest_starving() {
  const PodSpec* longest = nullptr;
  base::Instant since;
  Waiting::Group* its_group = nullptr;
  for (const Waiting::Row& row : waiting_.rows()) {
    const PodSpec& pod = row.group->first();
    if (row.group->shape.cards < 2 || state_.nominations.find(pod.uid) != nullptr) continue;
    const auto refused = state_.refused_at.find(pod.uid);
    if (refused == state_.refused_at.end() ||
        refused->second.ns + state_.options.patience_ns > state_.now.ns) {
      continue;
    }
    const bool better =
        longest == nullptr || pod.priority > longest->priority ||
        (pod.priority == longest->priority &&
         (refused->second < since || (refused->second == since && pod.uid < longest->uid)));
    if (!better) continue;
    longest = &pod;
    since = refused->second;
    its_group = row.group;
  }
  return its_group;
}

// Makes at most one nomination per call.
void Requeuer::nominate_starving() {
  if (state_.options.patience_ns <= 0) return;
  const auto per_nomination =
      static_cast<std::size_t>(std::max(1, state_.options.nodes_per_nomination));
  const auto most = std::max<std::size_t>(1, ledger_.nodes().count() / per_nomination);
  if (state_.nominations.for_starving() >= most) return;
  const Waiting::Group* group = longest_starving();
  if (group == nullptr) return;
  const PodSpec pod = group->first();
  // The group's shape ignores quotas.
  PodSpec scratch;
  const PodSpec& judged = cluster_.bounded(pod, scratch);
  Shape shape = make_shape(judged, ledger_);
  const auto found = nearest_nomination(judged, shape);
  if (!found) {  // the pod would not fit even on an empty node
    state_.refused_at.insert_or_assign(pod.uid, state_.now);
    return;
  }
  state_.nominations.open({.pod = pod,
                           .node = ledger_.nodes().name(found->node),
                           .target = found->cards,
                           .until = {state_.now.ns + state_.options.nomination_ns}},
                          state_.out);
}

// The node that lacks least: most idle cards, then fewest pods to wait for.
std::optional<VictimPlan> Requeuer::nearest_nomination(const PodSpec& pod, Shape& shape) {
  constexpr std::size_t kLookAt = 16;
  shape.learn_names(ledger_);
  struct Near {
    int missing = 0;
    std::size_t pods = 0;
    std::uint32_t rank = 0;
    NodeIndex node;
    auto key() const { return std::tuple(missing, pods, rank); }
  };
  std::vector<Near> near;
  std::set<std::string_view> taken;
  for (const auto& [uid, made] : state_.nominations.all()) taken.insert(made.node);
  const Planner& planner = state_.planners.of(pod);
  for (std::size_t n = 0; n < ledger_.nodes().rows(); ++n) {
    const NodeIndex node(n);
    const NodeState& state = ledger_.nodes().state(node);
    if (!state.schedulable || std::popcount(state.healthy) < shape.cards) continue;
    if (!resolvable(planner.verdict(shape, node).code)) continue;
    if (taken.contains(ledger_.nodes().name(node))) continue;
    near.push_back({.missing = shape.cards - std::popcount(state.whole),
                    .pods = ledger_.nodes().pods_on(node).size(),
                    .rank = ledger_.nodes().order().rank(node),
                    .node = node});
  }
  const auto nearer = [](const Near& a, const Near& b) { return a.key() < b.key(); };
  const auto few = near.begin() + static_cast<std::ptrdiff_t>(std::min(kLookAt, near.size()));
  std::partial_sort(near.begin(), few, near.end(), nearer);
  const ConstraintFilter more = cluster_.constraint_filter(pod);
  PreemptionPlanner victims = state_.preemption_planner();
  std::optional<VictimPlan> plan;
  for (auto it = near.begin(); it != few && !plan; ++it) {
    PotentialVictims potential;
    for (const PodIndex there : ledger_.nodes().pods_on(it->node)) {
      if (!ledger_.pods().record(there).stays) potential.pods.push_back(there);
    }
    std::sort(potential.pods.begin(), potential.pods.end(), [&](PodIndex a, PodIndex b) {
      // Pods to spare come first: those with few cards, then the newest ones.
      const auto key = [&](PodIndex p) {
        const PodRecord& r = ledger_.pods().record(p);
        return std::tuple(r.charges.size(), -r.since, std::string_view(r.uid));
      };
      return key(a) < key(b);
    });
    plan = victims.on_node({.pod = pod, .shape = shape, .constraint_filter = more}, it->node,
                           potential);
  }
  cluster_.touch(victims.taken());
  return plan;
}

}  // namespace stowage::core
