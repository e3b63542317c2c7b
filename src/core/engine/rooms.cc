// Rooms: what is kept on a node for one pod until all of it is there. A pod that evicts others gets
// one, so that nobody takes the room that its victims leave; a pod that has waited long for several
// cards of one node gets one, which grows as cards fall free. Others are placed around it.
#include <algorithm>
#include <bit>

#include "core/engine/body.h"
#include "core/engine/clearing.h"

namespace stowage::core {
namespace {

std::string room_uid(const std::string& pod) { return "room/" + pod; }

std::int32_t cards_wanted(const PodSpec& pod) {
  std::int32_t cards = 0;
  for (const auto& container : pod.containers) cards += container.gpu.count;
  return cards;
}

}  // namespace

void Engine::Body::open_room(Room room) {
  close_room(room.pod.uid, false);
  room.uid = room_uid(room.pod.uid);
  Room& kept = rooms_.insert_or_assign(room.pod.uid, std::move(room)).first->second;
  const Ledger::Room part = keep_room(kept);
  ++counters_.rooms_opened;
  if (kept.from_api) return;
  expect_use(kept);
  out_.emplace_back(Nominate{.uid = kept.pod.uid,
                             .node = kept.node,
                             .cards = part.cards,
                             .wanted = cards_wanted(kept.pod),
                             .preempts = kept.preempts});
}

Ledger::Room Engine::Body::keep_room(Room& room) {
  const NodeIndex node = ledger_.find_node(room.node);
  if (!node.valid() || !ledger_.present(node)) return {};
  if (ledger_.find_pod(room.uid).valid()) return {};
  return ledger_.keep_room(room.pod, room.uid, node, room.target);
}

NodeIndex Engine::Body::lift_room(const std::string& uid) {
  const auto found = rooms_.find(uid);
  if (found == rooms_.end()) return {};
  const PodIndex kept = ledger_.find_pod(found->second.uid);
  if (!kept.valid()) return {};
  const NodeIndex node = ledger_.pod(kept).node;
  ledger_.release(kept);
  return node;
}

NodeIndex Engine::Body::close_room(const std::string& uid, bool tell) {
  const auto found = rooms_.find(uid);
  if (found == rooms_.end()) return {};
  const NodeIndex node = lift_room(uid);
  quotas_.expect_no_more(uid);
  if (tell && !found->second.from_api) out_.emplace_back(Nominate{.uid = uid, .node = {}});
  rooms_.erase(found);
  return node;
}

// What is kept for a pod counts against the quota of its namespace: each pod that evicts others
// would find the same rest of it else.
void Engine::Body::expect_use(const Room& room) {
  const NodeIndex node = ledger_.find_node(room.node);
  if (!room.from_api && node.valid()) quotas_.expect(room.pod, node, ledger_);
}

bool Engine::Body::quota_ends(const Room& room) const {
  const NodeIndex node = ledger_.find_node(room.node);
  return !room.from_api && node.valid() && ledger_.present(node) &&
         !quotas_.leaves(room.pod, ledger_.spec(node), room.target);
}

// Most urgent first. Each is tried with its own room free, and keeps more of it if it must wait on.
void Engine::Body::serve_rooms(NodeIndex node) {
  if (rooms_.empty()) return;
  Line line;
  const std::string& name = ledger_.name(node);
  for (auto& [uid, room] : rooms_) {
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
    const auto found = rooms_.find(uid);
    if (found == rooms_.end()) continue;
    const PodSpec* parked = waiting_.parked(uid);
    if (parked == nullptr) {  // somebody else schedules it: all that is to be had is kept
      lift_room(uid);
      keep_room(found->second);
      continue;
    }
    const PodSpec pod = *parked;
    place(pod, place_in_line.arrival, Try::again);
  }
}

bool Engine::Body::victims_pending(const Room& room) const {
  return std::any_of(room.victims.begin(), room.victims.end(),
                     [&](const std::string& uid) { return ledger_.find_pod(uid).valid(); });
}

void Engine::Body::close_rooms_on(const std::string& node) {
  std::vector<std::string> owners;
  for (const auto& [uid, room] : rooms_) {
    if (room.node == node) owners.push_back(uid);
  }
  for (const auto& uid : owners) close_room(uid, true);
}

void Engine::Body::expire_rooms() {
  std::vector<std::string> over;
  for (const auto& [uid, room] : rooms_) {
    if (room.until <= now_) over.push_back(uid);
  }
  for (const auto& uid : over) {
    refused_at_.insert_or_assign(uid, now_);  // others that wait have their turn first
    const NodeIndex node = close_room(uid, true);
    if (node.valid()) wake(node);
  }
}

// At most one new room at a time, for the pod that has waited longest among the most important.
void Engine::Body::reserve_for_starving() {
  if (options_.patience_ns <= 0) return;
  const auto starving = std::count_if(rooms_.begin(), rooms_.end(), [](const auto& entry) {
    return !entry.second.preempts && !entry.second.from_api;
  });
  const auto most = std::max<std::size_t>(
      1, ledger_.node_count() / static_cast<std::size_t>(std::max(1, options_.nodes_per_room)));
  if (static_cast<std::size_t>(starving) >= most) return;
  const PodSpec* longest = nullptr;
  base::Instant since;
  for (const Waiting::Row& row : waiting_.rows()) {
    const PodSpec& pod = row.group->first();
    if (row.group->shape.cards < 2 || rooms_.contains(pod.uid)) continue;
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
  }
  if (longest == nullptr) return;
  const PodSpec pod = *longest;
  // The group's shape knows nothing of quotas.
  PodSpec scratch;
  const PodSpec& judged = bounded(pod, scratch);
  Shape shape = make_shape(judged, ledger_);
  const auto found = nearest_room(judged, shape);
  if (!found) {
    refused_at_.insert_or_assign(pod.uid, now_);  // no node would do even if it were empty
    return;
  }
  open_room({.pod = pod,
             .node = ledger_.name(found->node),
             .target = found->cards,
             .victims = {},
             .until = {now_.ns + options_.room_ns}});
}

// The node that lacks least: most cards idle, fewest pods to wait for.
std::optional<Engine::Body::Clearing> Engine::Body::nearest_room(const PodSpec& pod, Shape& shape) {
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
  const Planner& planner = planner_of(pod);
  for (std::size_t n = 0; n < ledger_.node_slots(); ++n) {
    const NodeIndex node(n);
    const NodeState& state = ledger_.state(node);
    if (!state.schedulable || std::popcount(state.healthy) < shape.cards) continue;
    if (!curable(planner.verdict(shape, node).code)) continue;
    const bool taken = std::any_of(rooms_.begin(), rooms_.end(), [&](const auto& entry) {
      return entry.second.node == ledger_.name(node);
    });
    if (taken) continue;
    near.push_back({.missing = shape.cards - std::popcount(state.whole),
                    .pods = ledger_.pods_on(node).size(),
                    .rank = ledger_.rank(node),
                    .node = node});
  }
  const auto nearer = [](const Near& a, const Near& b) { return a.key() < b.key(); };
  const auto few = near.begin() + static_cast<std::ptrdiff_t>(std::min(kLookAt, near.size()));
  std::partial_sort(near.begin(), few, near.end(), nearer);
  for (auto it = near.begin(); it != few; ++it) {
    std::vector<PodIndex> pods;
    for (const PodIndex there : ledger_.pods_on(it->node)) {
      if (!ledger_.pod(there).stays) pods.push_back(there);
    }
    std::sort(pods.begin(), pods.end(), [&](PodIndex a, PodIndex b) {
      // Who came last had better be waited for last; who holds many cards is worth waiting for.
      const auto key = [&](PodIndex p) {
        const PodRecord& r = ledger_.pod(p);
        return std::tuple(r.charges.size(), -r.since, std::string_view(r.uid));
      };
      return key(a) < key(b);
    });
    if (auto clearing = clear(pod, shape, it->node, pods, {})) return clearing;
  }
  return std::nullopt;
}

ReasonCode Engine::Body::check_with_rooms(const PodSpec& pod, NodeIndex node) {
  std::vector<PodIndex> seated;
  for (const auto& [uid, room] : rooms_) {
    if (room.node != ledger_.name(node) || uid == pod.uid || room.pod.priority < pod.priority) {
      continue;
    }
    const PodIndex kept = ledger_.find_pod(room.uid);
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
  std::optional<Clearing> clearing;
  // Where a device plugin picks the cards, any card that falls free may become its: which ones its
  // scheduler means to free is not known.
  const bool by_number = pod.naming != Naming::always && unnamed_use(unnamed_asks(pod)).shared == 0;
  if (!by_number) {
    const OnNode others = less_important(bare, node);
    clearing = clear(bare, make_shape(bare, ledger_), node, others.pods, others.leaving);
  }
  Assignment none;
  none.containers.resize(pod.containers.size());
  open_room({.pod = pod,
             .node = node_name,
             .target = clearing ? clearing->cards : none,
             .victims = {},
             .until = {now_.ns + options_.preempt_room_ns},
             .preempts = true,
             .from_api = true});
}

void Engine::Body::on(const PodNominated& e) {
  if (auto fine = acceptable(e.pod); !fine) return reject(e.pod.uid, fine.error().message);
  if (ledger_.find_pod(e.pod.uid).valid()) return;
  const auto known = rooms_.find(e.pod.uid);
  const bool ours = known != rooms_.end() && !known->second.from_api;
  if (ours || (known != rooms_.end() && known->second.node == e.node)) return;
  const NodeIndex left = close_room(e.pod.uid, false);
  if (!e.node.empty()) honour_nomination(e.pod, e.node);
  if (left.valid()) wake(left);
}

}  // namespace stowage::core
