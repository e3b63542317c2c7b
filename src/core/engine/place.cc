// Finding a place for a pod: choose, reserve, ask for the bind; or refuse, say why, and park.
#include <algorithm>
#include <utility>

#include "core/engine/body.h"

namespace stowage::core {

bool Engine::Body::place(const PodSpec& asked, std::uint64_t arrival, Try which) {
  PodSpec scratch;
  const PodSpec& pod = bounded(asked, scratch);
  // What is kept for the pod is free for it, and for nobody else, while it is judged.
  const NodeIndex room = nominations_.lift(asked.uid);
  Planner& planner = planner_of(pod);
  Planner::Entry& entry = planner.entry_for(pod);
  Attempt attempt{.asked = asked,
                  .pod = pod,
                  .arrival = arrival,
                  .which = which,
                  .planner = planner,
                  .entry = entry,
                  .kind = planner.arrived(entry, which),
                  .beyond = beyond(pod),
                  .prefer = room.valid() ? ledger_.name(room) : pod.nominated};
  ++counters_.decisions;
  looks_ += kJudgementsPerTry * static_cast<std::uint64_t>(Waiting::try_cost(pod));
  const Planner::Choice choice = choose(attempt);
  if (choice.node.valid()) {
    settle(attempt, choice.node);
    if (room.valid() && room != choice.node) wake(room);
    return true;
  }
  ++counters_.refused;
  if (choice.held_back) ++counters_.held_back;
  nominations_.keep(asked.uid);
  refuse(attempt, choice.held_back);
  return ledger_.find_pod(asked.uid).valid();
}

Planner::Choice Engine::Body::choose(Attempt& attempt) {
  if (!attempt.beyond.trouble().empty()) {
    (void)attempt.planner.ranked(attempt.entry);  // its numbers are told in the refusal
    return {};
  }
  if (!attempt.prefer.empty()) {
    const NodeIndex node = ledger_.find_node(attempt.prefer);
    const Ranking& ranking = attempt.planner.ranked(attempt.entry);
    if (node.valid() && ledger_.present(node) && ranking.feasible(node) &&
        check(attempt, node) == ReasonCode::none) {
      return {.node = node};
    }
  }
  return attempt.planner.choose(attempt.entry, attempt.kind, heed(attempt));
}

ReasonCode Engine::Body::check(const Attempt& attempt, NodeIndex node) {
  const ReasonCode now = attempt.beyond.check(node);
  if (now != ReasonCode::none || nominations_.empty() || !attempt.pod.around.demands()) return now;
  return check_with_rooms(attempt.pod, node);
}

Planner::Heed Engine::Body::heed(const Attempt& attempt) {
  Planner::Heed heed;
  if (attempt.beyond.any()) {
    heed.allowed = [this, &attempt](NodeIndex node) {
      return check(attempt, node) == ReasonCode::none;
    };
  }
  if (attempt.beyond.prefers()) {
    heed.among = [&attempt](const std::vector<NodeIndex>& nodes) {
      return attempt.beyond.finest(nodes);
    };
  }
  return heed;
}

void Engine::Body::settle(Attempt& attempt, NodeIndex node) {
  const PodSpec& pod = attempt.pod;
  Binding binding{.pod = attempt.asked, .arrival = attempt.arrival};
  if (attempt.asks && attempt.planner.options().picker_candidates > 1) {
    ask_picker(attempt, binding, node);
  }
  const Assignment cards = attempt.planner.cards_on(pod, attempt.entry, node);
  std::vector<ClaimStep> claims = attempt.beyond.claims_on(node);
  const PodIndex placed = ledger_.reserve(pod, node, cards);
  quotas_.charge(placed, ledger_);
  attempt.planner.accepted(placed, attempt.kind);
  if (!claims.empty()) volumes_.reserve(pod.uid, claims, ledger_.name(node));
  seat(placed, pod);
  expect_load(placed);
  ++counters_.bound;
  if (binding.generation == 0) {
    out_.emplace_back(Bind{.uid = pod.uid,
                           .node = ledger_.spec(node).name,
                           .cards = by_id(cards, ledger_.spec(node)),
                           .claims = std::move(claims)});
  }
  teach_others(pod, placed, attempt.which);
  attempt.planner.work();
  refused_at_.erase(pod.uid);
  nominations_.close(pod.uid);
  // The pod may live in the queue that it leaves now: nothing of the attempt is used from here on.
  std::string uid = pod.uid;
  binding_.insert_or_assign(uid, std::move(binding));
  waiting_.remove(uid);
}

void Engine::Body::seat(PodIndex pod, const PodSpec& spec) {
  const NodeIndex node = ledger_.pod(pod).node;
  peers_.add(pod, node, spec);
  if (!spec.around.claims.empty() || !spec.around.disks.empty()) {
    volumes_.add_pod(spec, ledger_.name(node));
  }
  ++priorities_[spec.priority];
}

void Engine::Body::unseat(PodIndex pod) {
  const PodRecord& record = ledger_.pod(pod);
  quotas_.release(pod);
  volumes_.remove_pod(record.uid);
  volumes_.release(record.uid);
  if (!peers_.seated(pod)) return;
  peers_.remove(pod);
  const auto priority = priorities_.find(record.priority);
  if (priority != priorities_.end() && --priority->second == 0) priorities_.erase(priority);
}

NodeIndex Engine::Body::release(PodIndex pod) {
  const NodeIndex node = ledger_.pod(pod).node;
  for (auto& planner : planners_) planner->departed(pod);
  unseat(pod);
  ledger_.release(pod);
  return node;
}

// Demand is one: the planners of other profiles learn of this pod as well. Those of wishes, of
// which pods can make as many as there are policies, learn from their own pods alone.
void Engine::Body::teach_others(const PodSpec& pod, PodIndex placed, Try which) {
  if (planners_.size() == 1) return;
  const Planner* own = &planner_of(pod);
  for (std::size_t i = 0; i < profiles_; ++i) {
    Planner& planner = *planners_[i];
    if (&planner == own || !planner.learns()) continue;
    const std::uint32_t kind = planner.arrived(planner.entry_for(pod), which);
    if (placed.valid()) planner.accepted(placed, kind);
  }
}

// ---- refusals -------------------------------------------------------------------------------

void Engine::Body::refuse(Attempt& attempt, bool held_back) {
  const bool first = attempt.which == Try::first;
  if (first) refused_at_.emplace(attempt.asked.uid, now_);
  // The reason may become another one while the pod waits: others give up quota or a claim.
  const bool may_change = quotas_.limits(attempt.pod.name) || attempt.beyond.uses_volumes();
  Refusal refusal = first ? refusal_of(attempt, held_back) : Refusal{};
  if (make_way(attempt, refusal)) return;
  const PodSpec& asked = attempt.asked;
  if (first && !asked.nominated.empty() && nominations_.find(asked.uid) == nullptr) {
    honour_nomination(asked, asked.nominated);  // from before a restart, or by somebody else
  }
  if (first || !refusal.making_room_on.empty()) {
    if (!first) {
      Refusal anew = refusal_of(attempt, held_back);
      anew.making_room_on = std::move(refusal.making_room_on);
      anew.victims = refusal.victims;
      refusal = std::move(anew);
    }
    out_.emplace_back(Refuse{.uid = attempt.pod.uid, .refusal = refusal});
  } else if (may_change) {
    refusal = refusal_of(attempt, held_back);
  }
  if (first) attempt.planner.refused(attempt.kind);
  teach_others(attempt.pod, {}, attempt.which);
  attempt.planner.work();
  park(attempt);
  if (may_change) tell_twins(attempt, refusal);
}

Refusal Engine::Body::refusal_of(Attempt& attempt, bool held_back) {
  Refusal refusal = attempt.planner.refusal(attempt.entry, held_back);
  add_bounds(attempt.pod, attempt.beyond, refusal);
  const Ranking& ranking = attempt.entry.ranking;
  if (!attempt.beyond.trouble().empty()) {
    refusal.nodes = static_cast<std::int64_t>(ledger_.node_count());
    refusal.counts = {ReasonCount{
        .code = ReasonCode::claim, .nodes = refusal.nodes, .what = attempt.beyond.trouble()}};
    return refusal;
  }
  if (attempt.beyond.any() && ranking.feasible() > 0 && !held_back) {
    std::map<ReasonCode, std::int64_t> nodes;
    for (std::size_t n = 0; n < ranking.slots(); ++n) {
      if (ranking.feasible(NodeIndex(n))) ++nodes[check(attempt, NodeIndex(n))];
    }
    for (const auto& [code, count] : nodes) {
      refusal.counts.push_back({.code = code, .nodes = count});
      refusal.nodes += count;
    }
    std::stable_sort(refusal.counts.begin(), refusal.counts.end(),
                     [](const ReasonCount& a, const ReasonCount& b) { return a.nodes > b.nodes; });
  }
  for (const auto& [uid, room] : nominations_.all()) {
    if (uid == attempt.asked.uid || !asks_for_cards(attempt.pod)) continue;
    const PodIndex kept = nominations_.kept_for(uid);
    if (!kept.valid()) continue;
    const PodRecord& record = ledger_.pod(kept);
    refusal.kept_cards += static_cast<std::int64_t>(record.charges.size()) + record.unnamed.whole;
    // Who reads the refusal may know the pods of its own namespace, and no others.
    if (refusal.kept_for.empty() && namespace_of(room.pod.name) == namespace_of(attempt.pod.name)) {
      refusal.kept_for = room.pod.name;
    }
  }
  return refusal;
}

std::string Engine::Body::group_key(const PodSpec& pod, bool by_neighbours) {
  std::string group;
  append_shape_key(pod, group);
  group += '@';
  group += std::to_string(pod.profile);
  if (pod.wish.any()) {
    group += '/' + std::to_string(static_cast<int>(planner_of(pod).options().choice.node)) + '/' +
             std::to_string(static_cast<int>(planner_of(pod).options().choice.card));
  }
  const bool own_namespace = by_neighbours || quotas_.limits(pod.name);
  if (own_namespace) group += '#' + std::string(namespace_of(pod.name));
  if (by_neighbours) {
    group += '&';
    append_key(pod.around, group);
  }
  return group;
}

void Engine::Body::park(const Attempt& attempt) {
  constexpr std::int64_t kFirstPauseNs = 1'000'000'000;
  constexpr std::uint32_t kPauseDoublings = 3;
  const PodSpec& pod = attempt.asked;
  const bool beyond = attempt.beyond.any();
  const std::string key = group_key(pod, beyond);
  Waiting::Group* group = waiting_.find(key);
  if (waiting_.parked(pod.uid) == nullptr) {
    group = &waiting_.park({.group = key, .pod = pod, .arrival = attempt.arrival},
                           [&](const PodSpec& asked) { return make_shape(asked, ledger_); });
  }
  if (group == nullptr) return;  // parked by other rules than it has now: the next change tells
  group->beyond = beyond;
  group->things = attempt.beyond.uses_volumes();
  group->unsearched = !attempt.entry.unsearched.empty();
  group->peers_seen = peers_.changes();
  group->epoch_seen = epoch_;
  if (group->unsearched) return waiting_.set_due(*group, now_);
  const std::uint32_t tries = attempt.which == Try::first ? 0 : ++group->tries;
  const std::int64_t pause =
      tries == 0 ? 0
                 : std::min<std::int64_t>(kFirstPauseNs << std::min(tries - 1, kPauseDoublings),
                                          10 * kFirstPauseNs);
  waiting_.set_due(*group, {now_.ns + pause});
}

}  // namespace stowage::core
