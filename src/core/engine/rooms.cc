// Nominations at work: who gets one, who is served when more of it is there, and when it ends.
#include <algorithm>
#include <bit>
#include <set>
#include <string_view>

#include "core/engine/body.h"

namespace stowage::core {

// Most urgent first. Each is tried with its own room free, and keeps more of it if it must wait on.
void Engine::Body::serve_rooms(NodeIndex node) {
  if (nominations_.empty()) return;
  Line line;
  const std::string& name = ledger_.name(node);
  for (const auto& [uid, room] : nominations_.all()) {
    if (room.node != name) continue;
    const std::uint64_t arrival = waiting_.arrival_of(uid).value_or(0);
    line.emplace(Waiting::Place{.urgency = -std::int64_t{room.pod.priority}, .arrival = arrival},
                 uid);
  }
  serve_line(node, line);
}

void Engine::Body::serve_line(NodeIndex node, const Line& line) {
  for (auto at = line.begin(); at != line.end(); ++at) {
    if (deferring())
      return defer({.kind = Step::Kind::rooms, .node = node, .line = {at, line.end()}});
    const auto& [place_in_line, uid] = *at;
    if (nominations_.find(uid) == nullptr) continue;
    const PodSpec* parked = waiting_.parked(uid);
    if (parked == nullptr) {  // another scheduler places it: all that is to be had is kept
      nominations_.lift(uid);
      nominations_.keep(uid);
      continue;
    }
    const PodSpec pod = *parked;
    place(pod, place_in_line.arrival, Try::again);
  }
}

void Engine::Body::expire_rooms() {
  for (const auto& uid : nominations_.expired(now_)) {
    refused_at_.insert_or_assign(uid, now_);  // others that wait have their turn first
    const NodeIndex node = nominations_.close(uid, out_);
    if (node.valid()) wake(node);
  }
}

// At most one new room at a time, for the pod that has waited longest among the most important.
void Engine::Body::reserve_for_starving() {
  if (options_.patience_ns <= 0) return;
  const auto most = std::max<std::size_t>(
      1, ledger_.node_count() / static_cast<std::size_t>(std::max(1, options_.nodes_per_room)));
  if (nominations_.for_starving() >= most) return;
  const PodSpec* longest = nullptr;
  base::Instant since;
  Waiting::Group* its_group = nullptr;
  for (const Waiting::Row& row : waiting_.rows()) {
    const PodSpec& pod = row.group->first();
    if (row.group->shape.cards < 2 || nominations_.find(pod.uid) != nullptr) continue;
    const auto refused = refused_at_.find(pod.uid);
    if (refused == refused_at_.end() || refused->second.ns + options_.patience_ns > now_.ns) {
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
  if (longest == nullptr) return;
  const PodSpec pod = *longest;
  const auto found = nearest_room(pod, its_group->shape);
  if (!found) {
    refused_at_.insert_or_assign(pod.uid, now_);  // no node would do even if it were empty
    return;
  }
  nominations_.open({.pod = pod,
                     .node = ledger_.name(found->node),
                     .target = found->cards,
                     .until = {now_.ns + options_.room_ns}},
                    out_);
}

// The node that lacks least: most cards idle, fewest pods to wait for.
std::optional<VictimPlan> Engine::Body::nearest_room(const PodSpec& pod, Shape& shape) {
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
  for (const auto& [uid, made] : nominations_.all()) taken.insert(made.node);
  const Planner& planner = planner_of(pod);
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
  const Beyond more = beyond(pod);
  PreemptionPlanner victims = preemption_planner();
  for (auto it = near.begin(); it != few; ++it) {
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
    auto plan = victims.on_node({.pod = pod, .shape = shape, .beyond = more}, it->node, potential);
    if (plan) return plan;
  }
  return std::nullopt;
}

ReasonCode Engine::Body::check_with_rooms(const PodSpec& pod, NodeIndex node) {
  std::vector<PodIndex> seated;
  for (const auto& [uid, room] : nominations_.all()) {
    if (room.node != ledger_.name(node) || uid == pod.uid || room.pod.priority < pod.priority) {
      continue;
    }
    const PodIndex kept = nominations_.kept_for(uid);
    if (!kept.valid()) continue;
    peers_.add(kept, node, room.pod);
    seated.push_back(kept);
  }
  if (seated.empty()) return ReasonCode::none;
  const ReasonCode then = beyond(pod).check(node);
  for (const PodIndex kept : seated) peers_.remove(kept);
  (void)beyond(pod);  // counters that others look at are as they were
  return then;
}

void Engine::Body::honour_nomination(const PodSpec& pod, const std::string& node_name) {
  const NodeIndex node = ledger_.find_node(node_name);
  if (!node.valid() || !ledger_.present(node)) return;
  // Whoever promised it knows what he does: only its cards and resources are looked at.
  PodSpec bare = pod;
  bare.rules = {};
  bare.around = {};
  Assignment target;
  target.containers.resize(pod.containers.size());
  // Where a device plugin picks the cards, any card that falls free may become its: which ones its
  // scheduler means to free is not known.
  const bool by_number = pod.naming != Naming::always && unnamed_use(unnamed_asks(pod)).shared == 0;
  if (!by_number) {
    const Shape shape = make_shape(bare, ledger_);
    const Beyond more = beyond(bare);
    PreemptionPlanner victims = preemption_planner();
    const auto plan = victims.on_node({.pod = bare, .shape = shape, .beyond = more}, node,
                                      victims.less_important(bare, node));
    if (plan) target = plan->cards;
  }
  nominations_.open({.pod = pod,
                     .node = node_name,
                     .target = std::move(target),
                     .until = {now_.ns + options_.preempt_room_ns},
                     .preempts = true,
                     .from_api = true},
                    out_);
}

void Engine::Body::on(const PodNominated& e) {
  if (auto fine = acceptable(e.pod); !fine) return reject(e.pod.uid, fine.error().message);
  if (ledger_.find_pod(e.pod.uid).valid()) return;
  const Nomination* known = nominations_.find(e.pod.uid);
  if (known != nullptr && (!known->from_api || known->node == e.node)) return;
  const NodeIndex left = nominations_.close(e.pod.uid);
  if (!e.node.empty()) honour_nomination(e.pod, e.node);
  if (left.valid()) wake(left);
}

}  // namespace stowage::core
