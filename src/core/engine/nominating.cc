// Nominations at work: who gets one, who is served when more of it is there, and when it ends.
#include <algorithm>
#include <bit>
#include <set>
#include <string_view>

#include "core/engine/requeuer.h"

namespace stowage::core {

// Most urgent first. Each is tried with its own room free, and keeps more of it if it must wait on.
void Requeuer::serve_nominated(NodeIndex node) {
  if (state_.nominations.empty()) return;
  Line line;
  const std::string& name = ledger_.name(node);
  for (const auto& [uid, room] : state_.nominations.all()) {
    if (room.node != name) continue;
    const std::uint64_t arrival = waiting_.arrival_of(uid).value_or(0);
    line.emplace(Waiting::Place{.urgency = -std::int64_t{room.pod.priority}, .arrival = arrival},
                 uid);
  }
  serve_line(node, line);
}

void Requeuer::serve_line(NodeIndex node, const Line& line) {
  for (auto at = line.begin(); at != line.end(); ++at) {
    if (deferring())
      return agenda_.defer({.kind = Step::Kind::rooms, .node = node, .line = {at, line.end()}});
    const auto& [place_in_line, uid] = *at;
    if (state_.nominations.find(uid) == nullptr) continue;
    const PodSpec* parked = waiting_.parked(uid);
    if (parked == nullptr) {  // another scheduler places it: all that is to be had is kept
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
    state_.refused_at.insert_or_assign(uid, state_.now);  // others that wait have their turn first
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

// At most one more at a time.
void Requeuer::nominate_starving() {
  if (state_.options.patience_ns <= 0) return;
  const auto per_nomination = static_cast<std::size_t>(std::max(1, state_.options.nodes_per_room));
  const auto most = std::max<std::size_t>(1, ledger_.node_count() / per_nomination);
  if (state_.nominations.for_starving() >= most) return;
  const Waiting::Group* group = longest_starving();
  if (group == nullptr) return;
  const PodSpec pod = group->first();
  // The group's shape knows nothing of quotas.
  PodSpec scratch;
  const PodSpec& judged = cluster_.bounded(pod, scratch);
  Shape shape = make_shape(judged, ledger_);
  const auto found = nearest_room(judged, shape);
  if (!found) {  // no node would do even if it were empty
    state_.refused_at.insert_or_assign(pod.uid, state_.now);
    return;
  }
  state_.nominations.open({.pod = pod,
                           .node = ledger_.name(found->node),
                           .target = found->cards,
                           .until = {state_.now.ns + state_.options.room_ns}},
                          state_.out);
}

// The node that lacks least: most cards idle, fewest pods to wait for.
std::optional<VictimPlan> Requeuer::nearest_room(const PodSpec& pod, Shape& shape) {
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
  for (std::size_t n = 0; n < ledger_.node_slots(); ++n) {
    const NodeIndex node(n);
    const NodeState& state = ledger_.state(node);
    if (!state.schedulable || std::popcount(state.healthy) < shape.cards) continue;
    if (!curable(planner.verdict(shape, node).code)) continue;
    if (taken.contains(ledger_.name(node))) continue;
    near.push_back({.missing = shape.cards - std::popcount(state.whole),
                    .pods = ledger_.pods_on(node).size(),
                    .rank = ledger_.rank(node),
                    .node = node});
  }
  const auto nearer = [](const Near& a, const Near& b) { return a.key() < b.key(); };
  const auto few = near.begin() + static_cast<std::ptrdiff_t>(std::min(kLookAt, near.size()));
  std::partial_sort(near.begin(), few, near.end(), nearer);
  const Beyond more = cluster_.beyond(pod);
  PreemptionPlanner victims = state_.preemption_planner();
  std::optional<VictimPlan> plan;
  for (auto it = near.begin(); it != few && !plan; ++it) {
    PotentialVictims potential;
    for (const PodIndex there : ledger_.pods_on(it->node)) {
      if (!ledger_.pod(there).stays) potential.pods.push_back(there);
    }
    std::sort(potential.pods.begin(), potential.pods.end(), [&](PodIndex a, PodIndex b) {
      // Who came last had better be waited for last; who holds many cards is worth waiting for.
      const auto key = [&](PodIndex p) {
        const PodRecord& r = ledger_.pod(p);
        return std::tuple(r.charges.size(), -r.since, std::string_view(r.uid));
      };
      return key(a) < key(b);
    });
    plan = victims.on_node({.pod = pod, .shape = shape, .beyond = more}, it->node, potential);
  }
  cluster_.touch(victims.taken());
  return plan;
}

}  // namespace stowage::core
