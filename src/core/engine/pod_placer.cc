#include "core/engine/pod_placer.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/engine/refusals.h"

namespace stowage::core {
namespace {

constexpr std::size_t kTwinsTold = 1000;  // most twins that one event informs

}  // namespace

PodPlacer::Attempt PodPlacer::attempt_for(const PodSpec& asked, const PodSpec& pod, Try which) {
  Planner& planner = state_.planners.of(pod);
  Planner::Entry& entry = planner.entry_for(pod);
  const std::uint32_t kind = planner.arrived(entry, which);
  return {.asked = asked,
          .pod = pod,
          .which = which,
          .planner = planner,
          .entry = entry,
          .kind = kind,
          .constraint_filter = cluster_.constraint_filter(pod)};
}

PodPlacer::Outcome PodPlacer::place(const PodSpec& asked, std::uint64_t arrival, Try which) {
  PodSpec scratch;
  const PodSpec& pod = cluster_.bounded(asked, scratch);
  // Capacity that is nominated for the pod is free for it, and for no other pod, while it is
  // judged.
  const NodeIndex kept_on = state_.nominations.lift(asked.uid);
  Attempt attempt = attempt_for(asked, pod, which);
  attempt.arrival = arrival;
  attempt.prefer = kept_on.valid() ? ledger_.nodes().name(kept_on) : pod.nominated;
  ++state_.counters.decisions;
  state_.work.add_looks(kJudgementsPerTry * static_cast<std::uint64_t>(Waiting::try_cost(pod)));
  const Planner::Choice choice = choose(attempt);
  if (choice.node.valid()) {
    resolve(attempt, choice.node);
    return {.placed = true, .left = kept_on != choice.node ? kept_on : NodeIndex{}};
  }
  ++state_.counters.refused;
  if (choice.held_back) ++state_.counters.held_back;
  const bool over = state_.nominations.over_quota(asked.uid);
  if (over) {
    state_.nominations.close(asked.uid, state_.out);
  } else {
    state_.nominations.keep(asked.uid);
  }
  const bool placed = refuse(attempt, choice.held_back);
  return {.placed = placed, .left = over ? kept_on : NodeIndex{}};
}

Planner::Choice PodPlacer::choose(Attempt& attempt) {
  if (!attempt.constraint_filter.trouble().empty()) {
    (void)attempt.planner.ranked(attempt.entry);  // the refusal contains its counts
    return {};
  }
  if (!attempt.prefer.empty()) {
    const NodeIndex node = ledger_.nodes().find(attempt.prefer);
    const Ranking& ranking = attempt.planner.ranked(attempt.entry);
    if (node.valid() && ledger_.nodes().present(node) && ranking.feasible(node) &&
        check(attempt, node) == ReasonCode::none) {
      return {.node = node};
    }
  }
  return attempt.planner.choose(attempt.entry, attempt.kind, choice_options(attempt));
}

ReasonCode PodPlacer::check(const Attempt& attempt, NodeIndex node) {
  const ReasonCode now = attempt.constraint_filter.check(node);
  if (now != ReasonCode::none || state_.nominations.empty() || !attempt.pod.constraints.demands())
    return now;
  return check_with_nominated(attempt.pod, node);
}

ReasonCode PodPlacer::check_with_nominated(const PodSpec& pod, NodeIndex node) {
  std::vector<PodIndex> contains;
  for (const auto& [uid, room] : state_.nominations.all()) {
    if (room.node != ledger_.nodes().name(node) || uid == pod.uid ||
        room.pod.priority < pod.priority) {
      continue;
    }
    const PodIndex kept = state_.nominations.kept_for(uid);
    if (!kept.valid()) continue;
    cluster_.affinity.add(kept, node, room.pod);
    contains.push_back(kept);
  }
  if (contains.empty()) return ReasonCode::none;
  const ReasonCode then = cluster_.constraint_filter(pod).check(node);
  for (const PodIndex kept : contains) cluster_.affinity.remove(kept);
  (void)cluster_.constraint_filter(pod);  // restores the counters that other filters use
  return then;
}

Planner::ChoiceOptions PodPlacer::choice_options(const Attempt& attempt) {
  Planner::ChoiceOptions choice_options;
  if (attempt.constraint_filter.any()) {
    choice_options.allowed = [this, &attempt](NodeIndex node) {
      return check(attempt, node) == ReasonCode::none;
    };
  }
  if (attempt.constraint_filter.prefers()) {
    choice_options.among = [&attempt](const std::vector<NodeIndex>& nodes) {
      return attempt.constraint_filter.most_preferred(nodes);
    };
  }
  return choice_options;
}

void PodPlacer::resolve(Attempt& attempt, NodeIndex node) {
  const PodSpec& pod = attempt.pod;
  PendingBind bind{.pod = attempt.asked, .arrival = attempt.arrival};
  if (attempt.asks && attempt.planner.options().picker_candidates > 1) {
    ask_picker(attempt, bind, node);
  }
  const Assignment cards = attempt.planner.cards_on(pod, attempt.entry, node);
  std::vector<ClaimStep> claims = attempt.constraint_filter.claims_on(node);
  const PodIndex placed = ledger_.reserve(pod, node, cards);
  attempt.planner.accepted(placed, attempt.kind);
  if (!claims.empty()) {
    cluster_.volumes.reservations().reserve(pod.uid, claims, ledger_.nodes().name(node));
  }
  cluster_.add_pod(placed, pod);
  state_.loads.expect(placed, state_.now);
  ++state_.counters.bound;
  if (bind.generation == 0) {
    state_.out.emplace_back(Bind{.uid = pod.uid,
                                 .node = ledger_.nodes().spec(node).name,
                                 .cards = by_id(cards, ledger_.nodes().spec(node)),
                                 .claims = std::move(claims)});
  }
  state_.planners.teach_others(pod, placed, attempt.which);
  attempt.planner.work();
  state_.refused_at.erase(pod.uid);
  state_.nominations.close(pod.uid);
  // The pod may be stored in the queue that it leaves here, so the attempt is not used after this.
  std::string uid = pod.uid;
  state_.binds.start(uid, std::move(bind));
  state_.waiting.remove(uid);
}

// ---- refusals -------------------------------------------------------------------------------

bool PodPlacer::refuse(Attempt& attempt, bool held_back) {
  const bool first = attempt.which == Try::first;
  if (first) state_.refused_at.emplace(attempt.asked.uid, state_.now);
  // The reason may change while the pod waits: other pods may release quota or a claim.
  const bool may_change =
      cluster_.quotas.limits(attempt.pod.name) || attempt.constraint_filter.uses_volumes();
  Refusal refusal = first ? refusal_of(attempt, held_back) : Refusal{};
  if (make_way(attempt, refusal)) return true;
  const PodSpec& asked = attempt.asked;
  if (first && !asked.nominated.empty() && state_.nominations.find(asked.uid) == nullptr) {
    honour_nomination(asked,
                      asked.nominated);  // from before a restart, or made by another scheduler
  }
  if (first || !refusal.making_room_on.empty()) {
    if (!first) {
      Refusal anew = refusal_of(attempt, held_back);
      anew.making_room_on = std::move(refusal.making_room_on);
      anew.victims = refusal.victims;
      refusal = std::move(anew);
    }
    state_.out.emplace_back(
        Refuse{.uid = attempt.pod.uid, .refusal = may_change ? refusal : std::move(refusal)});
  } else if (may_change) {
    refusal = refusal_of(attempt, held_back);
  }
  if (first) attempt.planner.refused(attempt.kind);
  state_.planners.teach_others(attempt.pod, {}, attempt.which);
  attempt.planner.work();
  park(attempt);
  if (may_change) tell_twins(attempt, refusal);
  return false;
}

Refusal PodPlacer::refusal_of(Attempt& attempt, bool held_back) {
  Refusal refusal = attempt.planner.refusal(attempt.entry, held_back);
  add_bounds(cluster_, attempt.pod, attempt.constraint_filter, refusal);
  const Ranking& ranking = attempt.entry.ranking;
  if (!attempt.constraint_filter.trouble().empty()) {
    refusal.nodes = static_cast<std::int64_t>(ledger_.nodes().count());
    refusal.counts = {ReasonCount{.code = ReasonCode::claim,
                                  .nodes = refusal.nodes,
                                  .what = attempt.constraint_filter.trouble()}};
    return refusal;
  }
  if (attempt.constraint_filter.any() && ranking.feasible() > 0 && !held_back) {
    std::map<ReasonCode, std::int64_t> nodes;
    for (std::size_t n = 0; n < ranking.rows(); ++n) {
      if (ranking.feasible(NodeIndex(n))) ++nodes[check(attempt, NodeIndex(n))];
    }
    for (const auto& [code, count] : nodes) {
      refusal.counts.push_back({.code = code, .nodes = count});
      refusal.nodes += count;
    }
    std::stable_sort(refusal.counts.begin(), refusal.counts.end(),
                     [](const ReasonCount& a, const ReasonCount& b) { return a.nodes > b.nodes; });
  }
  for (const auto& [uid, room] : state_.nominations.all()) {
    if (uid == attempt.asked.uid || !asks_for_cards(attempt.pod)) continue;
    const PodIndex kept = state_.nominations.kept_for(uid);
    if (!kept.valid()) continue;
    const PodRecord& record = ledger_.pods().record(kept);
    const auto whole =
        std::count_if(record.charges.begin(), record.charges.end(),
                      [](const CardCharge& charge) { return charge.milli >= kMilliPerCard; });
    if (whole + record.unnamed.whole == 0) continue;
    refusal.kept_cards += whole + record.unnamed.whole;
    // A reader of the refusal may know pods of its own namespace, but no others.
    if (refusal.kept_for.empty() && namespace_of(room.pod.name) == namespace_of(attempt.pod.name)) {
      refusal.kept_for = room.pod.name;
    }
  }
  return refusal;
}

// A refusal is reported once. But autoscalers read the condition, so a changed condition is
// reported again, for all twins.
void PodPlacer::tell_twins(const Attempt& attempt, const Refusal& refusal) {
  Waiting::Group* group =
      state_.waiting.find(group_key(attempt.asked, attempt.constraint_filter.any()));
  if (group == nullptr) return;
  const ConditionReason now = condition_reason(refusal);
  const std::optional<ConditionReason> before = std::exchange(group->told, now);
  if (!before || *before == now) return;
  std::size_t told = 0;
  for (const auto& [place, pod] : group->pods) {
    if (pod.uid == attempt.asked.uid && attempt.which == Try::first) continue;  // already reported
    if (++told > kTwinsTold) break;
    state_.out.emplace_back(Refuse{.uid = pod.uid, .refusal = refusal});
  }
}

std::string PodPlacer::group_key(const PodSpec& pod, bool by_neighbours) {
  std::string group;
  append_shape_key(pod, group);
  group += '@';
  group += std::to_string(pod.profile);
  if (pod.wish.any()) {
    group += '/' + std::to_string(static_cast<int>(state_.planners.of(pod).options().choice.node)) +
             '/' + std::to_string(static_cast<int>(state_.planners.of(pod).options().choice.card));
  }
  const bool own_namespace = by_neighbours || cluster_.quotas.limits(pod.name);
  if (own_namespace) group += '#' + std::string(namespace_of(pod.name));
  if (by_neighbours) {
    group += '&';
    append_key(pod.constraints, group);
  }
  return group;
}

void PodPlacer::park(const Attempt& attempt) {
  constexpr std::int64_t kFirstPauseNs = 1'000'000'000;
  constexpr std::uint32_t kPauseDoublings = 3;
  const PodSpec& pod = attempt.asked;
  const bool constrained = attempt.constraint_filter.any();
  const std::string key = group_key(pod, constrained);
  Waiting::Group* group = state_.waiting.find(key);
  if (state_.waiting.parked(pod.uid) == nullptr) {
    const bool bounded =
        &attempt.pod != &pod;  // the entry's shape has the bounds, the group's none
    group = &state_.waiting.park({.group = key, .pod = pod, .arrival = attempt.arrival}, [&] {
      return bounded ? make_shape(pod, ledger_) : attempt.entry.shape;
    });
  }
  if (group == nullptr)
    return;  // parked with other rules than it has now: the next change updates it
  group->constrained = constrained;
  group->aux_objects = attempt.constraint_filter.uses_volumes();
  group->unsearched = !attempt.entry.unsearched.empty();
  group->affinity_seen = cluster_.affinity.changes();
  group->epoch_seen = cluster_.epoch;
  if (group->unsearched) return state_.waiting.set_due(*group, state_.now);
  const std::uint32_t tries = attempt.which == Try::first ? 0 : ++group->tries;
  const std::int64_t pause =
      tries == 0 ? 0
                 : std::min<std::int64_t>(kFirstPauseNs << std::min(tries - 1, kPauseDoublings),
                                          10 * kFirstPauseNs);
  state_.waiting.set_due(*group, {state_.now.ns + pause});
}

}  // namespace stowage::core
