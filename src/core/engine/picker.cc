// The outside picker chooses among candidates, without a time limit in the engine. Meanwhile the
// policy's own choice is reserved, so the pod has a placement even if the picker does not answer.
#include <algorithm>
#include <bit>

#include "core/engine/pod_placer.h"

namespace stowage::core {

void PodPlacer::ask_picker(Attempt& attempt, PendingBind& bind, NodeIndex reserved) {
  const auto most = static_cast<std::size_t>(attempt.planner.options().picker_candidates);
  const Ranking& ranking = attempt.entry.ranking;
  std::vector<NodeIndex> nodes;
  for (std::size_t n = 0; n < ranking.rows(); ++n) {
    const NodeIndex node(n);
    if (node != reserved && ranking.feasible(node)) nodes.push_back(node);
  }
  std::sort(nodes.begin(), nodes.end(), [&](NodeIndex a, NodeIndex b) {
    return ranking.cost(a) != ranking.cost(b)
               ? ranking.cost(a) < ranking.cost(b)
               : ledger_.nodes().order().rank(a) < ledger_.nodes().order().rank(b);
  });
  AskPicker ask{.uid = attempt.pod.uid, .generation = ++generations_};
  const auto add = [&](NodeIndex node) {
    const NodeState& state = ledger_.nodes().state(node);
    Candidate candidate{.node = ledger_.nodes().name(node),
                        .cost = ranking.cost(node),
                        .cpu_free_milli = state.cpu_free_milli,
                        .memory_free_bytes = state.memory_free_bytes,
                        .cards = state.cards,
                        .cards_idle = std::popcount(state.whole),
                        .pods = static_cast<std::int32_t>(ledger_.nodes().pods_on(node).size())};
    for (const CardState& card : ledger_.nodes().cards(node)) {
      candidate.milli_free += card.milli_free;
      candidate.card_memory_free += card.memory_free_mib;
    }
    ask.candidates.push_back(std::move(candidate));
    bind.picks.push_back(ledger_.nodes().name(node));
  };
  add(reserved);
  for (const NodeIndex node : nodes) {
    if (ask.candidates.size() >= most) break;
    if (check(attempt, node) == ReasonCode::none) add(node);
  }
  if (ask.candidates.size() < 2) return;  // nothing to choose
  bind.generation = ask.generation;
  state_.out.emplace_back(std::move(ask));
}

PodPlacer::Outcome PodPlacer::picked(const Picked& e) {
  const auto bind = state_.binds.take(e.uid, e.generation);
  if (!bind) return {};  // a reply to an older request
  const PodIndex reserved = ledger_.pods().find(e.uid);
  if (!reserved.valid()) return {};
  const NodeIndex before = ledger_.pods().record(reserved).node;
  const std::string node_before = ledger_.nodes().name(before);
  const bool offered =
      std::find(bind->picks.begin(), bind->picks.end(), e.node) != bind->picks.end();
  // Judges the pod again and prefers the picked node. If that no longer fits, the reserved node is
  // preferred.
  state_.release(reserved);
  PodSpec scratch;
  Attempt attempt = attempt_for(bind->pod, cluster_.bounded(bind->pod, scratch), Try::again);
  attempt.arrival = bind->arrival;
  attempt.prefer = offered ? e.node : node_before;
  Planner::Choice choice = choose(attempt);
  const bool picked = offered && choice.node.valid() && ledger_.nodes().name(choice.node) == e.node;
  if (offered && !picked) {
    attempt.prefer = node_before;
    choice = choose(attempt);
  }
  ++(picked ? state_.counters.picked : state_.counters.not_picked);
  if (!choice.node.valid()) {  // the node was removed meanwhile
    return {.placed = refuse(attempt, choice.held_back)};
  }
  attempt.asks = false;
  resolve(attempt, choice.node);
  --state_.counters.bound;  // counted when it was reserved
  return {.placed = true, .left = choice.node != before ? before : NodeIndex{}};
}

}  // namespace stowage::core
