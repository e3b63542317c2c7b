#include "core/engine/external_pods.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "core/engine/refusals.h"

namespace stowage::core {
namespace {

// The part of the pod that is judged here: its cards, and how it asks for them.
PodSpec cards_of(const PodSpec& pod) {
  PodSpec cards = pod;
  cards.cards_only = true;
  cards.rules = {};
  cards.overhead = {};
  for (auto& container : cards.containers) container.resources = {};
  return cards;
}

bool holds_cards(const PodRecord& pod) {
  return !pod.charges.empty() || pod.unnamed != UnnamedUse{};
}

// Sums refusals over nodes.
class Tally {
 public:
  void add(const Reason& reason) {
    ++nodes_;
    ReasonCount& count = counts_[reason.code];
    count.code = reason.code;
    count.asked = reason.asked;
    count.best = std::max(count.best, reason.found);
    if (reason.only) count.best_only = std::max(count.best_only, reason.found);
    ++count.nodes;
  }
  [[nodiscard]] Refusal take() {
    Refusal refusal{.nodes = nodes_};
    for (auto& [code, count] : counts_) refusal.counts.push_back(std::move(count));
    std::stable_sort(refusal.counts.begin(), refusal.counts.end(),
                     [](const ReasonCount& a, const ReasonCount& b) { return a.nodes > b.nodes; });
    return refusal;
  }

 private:
  std::int64_t nodes_ = 0;
  std::map<ReasonCode, ReasonCount> counts_;
};

}  // namespace

struct ExternalPods::Candidates {
  PodSpec pod;  // only its cards, bounded by the quota
  Planner* planner = nullptr;
  Planner::Entry* entry = nullptr;
  const Ranking* ranking = nullptr;
  std::uint32_t kind = Planner::kNoKind;
  std::vector<NodeIndex> nodes;  // in the order of the request; invalid: unknown
  NodeIndex best;                // invalid: no node fits

  [[nodiscard]] bool fits(NodeIndex node) const { return node.valid() && ranking->feasible(node); }
  // The cards that the policy chooses on the best node.
  [[nodiscard]] Assignment cards_on_best() const { return planner->cards_on(pod, *entry, best); }
};

// Nominations whose capacity is free while a pod is judged: its own, and those of less important
// pods that it takes. At the end their capacity is kept again, unless the pod holds it by then.
class ExternalPods::LiftedNominations {
 public:
  LiftedNominations(EngineState& state, const std::string& uid) : state_(state), uid_(uid) {
    state_.nominations.lift(uid);
  }
  ~LiftedNominations() {
    if (state_.holds.find(uid_) != nullptr) {
      state_.nominations.close(uid_);  // a pod that holds cards needs no nomination
    } else {
      state_.nominations.keep(uid_);
    }
    keep_others();
  }
  LiftedNominations(const LiftedNominations&) = delete;
  LiftedNominations& operator=(const LiftedNominations&) = delete;

  void lift(std::vector<std::string> others) {
    others_ = std::move(others);
    for (const auto& uid : others_) state_.nominations.lift(uid);
  }
  void keep_others() {
    for (const auto& uid : others_) state_.nominations.keep(uid);
    others_.clear();
  }
  // The pod holds the capacity of the others.
  void close_others() {
    for (const auto& uid : others_) state_.nominations.close(uid, state_.out);
    others_.clear();
  }

 private:
  EngineState& state_;
  const std::string& uid_;
  std::vector<std::string> others_;
};

// Requests name thousands of nodes, mostly in the order of the previous request, so the node that
// followed last time is tried before a lookup by name.
std::vector<NodeIndex> ExternalPods::find_nodes(const std::vector<std::string>& names) {
  if (next_asked_.size() < ledger_.nodes().rows()) next_asked_.resize(ledger_.nodes().rows());
  std::vector<NodeIndex> nodes;
  nodes.reserve(names.size());
  NodeIndex last;
  for (const std::string& name : names) {
    NodeIndex node = last.valid() ? next_asked_[last.at()] : NodeIndex{};
    if (!node.valid() || ledger_.nodes().name(node) != name) {
      node = ledger_.nodes().find(name);
      if (last.valid()) next_asked_[last.at()] = node;
    }
    if (node.valid()) last = node;
    nodes.push_back(node.valid() && ledger_.nodes().present(node) ? node : NodeIndex{});
  }
  return nodes;
}

ExternalPods::Candidates ExternalPods::look_at(const PodSpec& pod,
                                               const std::vector<std::string>& nodes,
                                               Planner::Try which, LiftedNominations& lifted) {
  Candidates all;
  PodSpec scratch;
  all.pod = cluster_.bounded(cards_of(pod), scratch);
  all.planner = &state_.planners.of(all.pod);
  all.entry = &all.planner->entry_for(all.pod);
  all.kind = all.planner->arrived(*all.entry, which);
  all.ranking = &all.planner->ranked(*all.entry);
  ++state_.counters.decisions;
  all.nodes = find_nodes(nodes);
  choose_best(all);
  if (all.best.valid()) return all;
  std::vector<std::string> others = nominations_in_the_way(all.pod, *all.entry, &all.nodes);
  if (others.empty()) return all;
  lifted.lift(std::move(others));
  all.ranking = &all.planner->ranked(*all.entry);
  choose_best(all);
  if (all.best.valid()) return all;
  lifted.keep_others();
  all.ranking = &all.planner->ranked(*all.entry);
  return all;
}

void ExternalPods::choose_best(Candidates& all) const {
  std::vector<NodeIndex> fitting;
  fitting.reserve(all.nodes.size());
  for (const NodeIndex node : all.nodes) {
    if (all.fits(node)) fitting.push_back(node);
  }
  const auto better = [&](NodeIndex a, NodeIndex b) {
    const std::uint64_t cost_a = all.ranking->cost(a);
    const std::uint64_t cost_b = all.ranking->cost(b);
    return cost_a != cost_b ? cost_a < cost_b
                            : ledger_.nodes().order().rank(a) < ledger_.nodes().order().rank(b);
  };
  if (fitting.empty()) return;
  all.best = *std::min_element(fitting.begin(), fitting.end(), better);
  if (all.planner->willing(*all.entry, all.kind, all.best)) return;
  std::sort(fitting.begin(), fitting.end(), better);
  const auto willing = std::find_if(fitting.begin(), fitting.end(), [&](NodeIndex node) {
    return all.planner->willing(*all.entry, all.kind, node);
  });
  if (willing != fitting.end()) all.best = *willing;
}

std::vector<std::string> ExternalPods::nominations_in_the_way(const PodSpec& pod,
                                                              const Planner::Entry& entry,
                                                              const std::vector<NodeIndex>* asked) {
  std::set<NodeIndex> kept_on;
  for (const auto& uid : state_.nominations.below(pod.priority)) {
    const NodeIndex node = cluster_.find_present(state_.nominations.find(uid)->node);
    if (node.valid() && !entry.ranking.feasible(node) &&
        resolvable(entry.ranking.reason(node).code)) {
      kept_on.insert(node);
    }
  }
  std::vector<NodeIndex> nodes;
  if (!kept_on.empty() && asked != nullptr) {
    std::copy_if(asked->begin(), asked->end(), std::back_inserter(nodes),
                 [&](NodeIndex node) { return kept_on.erase(node) > 0; });
  } else {
    nodes.assign(kept_on.begin(), kept_on.end());
  }
  if (nodes.empty()) return {};
  for (const NodeIndex node : nodes) state_.work.add_looks(ledger_.nodes().pods_on(node).size());
  const ConstraintFilter more = cluster_.constraint_filter(pod);
  const auto plan = state_.nomination_planner().cheapest(
      {.pod = pod, .shape = entry.shape, .constraint_filter = more}, nodes);
  return plan ? state_.nominations.among(plan->victims) : std::vector<std::string>{};
}

CardPlacement ExternalPods::place_of(NodeIndex node, const Assignment& cards) const {
  const NodeSpec& spec = ledger_.nodes().spec(node);
  return {.node = spec.name, .cards = by_id(cards, spec)};
}

const Hold& ExternalPods::hold(const PodSpec& pod, Candidates& candidates, base::Instant until,
                               LiftedNominations& lifted) {
  const Assignment cards = candidates.cards_on_best();
  CardPlacement place = place_of(candidates.best, cards);
  const PodIndex held = ledger_.reserve_external(pod, candidates.best, cards);
  cluster_.quotas.charge(held, ledger_);
  candidates.planner->accepted(held, candidates.kind);
  lifted.close_others();
  return holds_.add({.pod = pod, .place = std::move(place), .until = until});
}

void ExternalPods::mark_reserved(const std::string& uid) {
  holds_.reserve(uid);
  state_.loads.expect(ledger_.pods().find(uid), state_.now);
}

NodeIndex ExternalPods::let_go(const std::string& uid) {
  if (holds_.find(uid) == nullptr) return {};
  holds_.forget(uid);
  const PodIndex pod = ledger_.pods().find(uid);
  return pod.valid() ? state_.release(pod) : NodeIndex{};
}

void ExternalPods::end_hold(const std::string& uid) {
  const std::string name = holds_.find(uid)->pod.name;
  requeuer_.wake_after(let_go(uid), name);
}

void ExternalPods::expire_holds() {
  while (const Hold* hold = holds_.expired(state_.now)) {
    ++state_.counters.holds_expired;
    end_hold(std::string(hold->pod.uid));
  }
}

std::string ExternalPods::assigned_node(const std::string& uid) const {
  if (const Hold* hold = holds_.find(uid)) return hold->binding ? hold->place.node : "";
  const PodIndex pod = ledger_.pods().find(uid);
  return pod.valid() ? ledger_.nodes().spec(ledger_.pods().record(pod).node).name : "";
}

// False if the node has lost the held cards or renamed them.
bool ExternalPods::still_there(const Hold& hold) const {
  const PodIndex pod = ledger_.pods().find(hold.pod.uid);
  if (!pod.valid() || !ledger_.nodes().present(ledger_.pods().record(pod).node)) return false;
  return ledger_.pods().record(pod).orphans.empty() &&
         cluster_.positions_on(hold.place.node, hold.place.cards).absent.empty();
}

void ExternalPods::finish(NodeIndex left, NodeIndex taken, Commands& out) {
  if (left.valid() && left != taken) requeuer_.wake(left);
  std::move(state_.out.begin(), state_.out.end(), std::back_inserter(out));
  state_.out.clear();
}

FilterAnswer ExternalPods::filter(const FilterRequest& ask, base::Instant now, Commands& out) {
  state_.begin(now);
  FilterAnswer answer;
  answer.binding_to = assigned_node(ask.pod.uid);
  if (!answer.binding_to.empty()) return answer;
  LiftedNominations lifted(state_, ask.pod.uid);
  const bool dry = ask.keep == HoldMode::nothing;
  const Hold* const hold_now = holds_.find(ask.pod.uid);
  const bool known = hold_now != nullptr;
  // A dry run does not move an existing hold; the pod fits where it is held.
  const NodeIndex stays = dry && known ? ledger_.nodes().find(hold_now->place.node) : NodeIndex{};
  const NodeIndex left = dry ? NodeIndex{} : let_go(ask.pod.uid);
  if (!dry) state_.waiting.remove(ask.pod.uid);
  Candidates candidates =
      look_at(ask.pod, ask.nodes, known || dry ? Planner::Try::again : Planner::Try::first, lifted);
  for (std::size_t i = 0; !ask.prefer.empty() && i < ask.nodes.size(); ++i) {
    if (ask.nodes[i] == ask.prefer && candidates.fits(candidates.nodes[i])) {
      candidates.best = candidates.nodes[i];
    }
  }
  Tally tally;
  for (std::size_t i = 0; i < candidates.nodes.size(); ++i) {
    const NodeIndex node = candidates.nodes[i];
    const auto position = static_cast<std::uint32_t>(i);
    if (!node.valid()) {
      answer.refused.push_back({.node = position, .reason = {}, .unknown = true});
    } else if (!candidates.fits(node) && node != stays) {
      Reason reason = candidates.ranking->reason(node);
      reason.asked = asked_of(candidates.entry->shape, reason.code);
      tally.add(reason);
      answer.refused.push_back({.node = position, .reason = reason});
    } else if (ask.keep == HoldMode::one && node != candidates.best) {
      answer.refused.push_back({.node = position, .reason = {}});
    } else {
      answer.fits.push_back(position);
    }
  }
  if (candidates.best.valid()) {
    if (!dry && asks_for_cards(ask.pod)) {
      answer.held = hold(ask.pod, candidates, ask.until, lifted).place;
    } else {
      answer.held = place_of(candidates.best, candidates.cards_on_best());
    }
  } else {
    answer.refusal = tally.take();
    add_card_names(ledger_, candidates.entry->shape, *candidates.ranking, answer.refusal);
    add_bounds(cluster_, candidates.pod, cluster_.constraint_filter(candidates.pod),
               answer.refusal);
    if (!dry && !known) candidates.planner->refused(candidates.kind);
  }
  candidates.planner->work();
  finish(left, candidates.best, out);
  return answer;
}

ScoreAnswer ExternalPods::score(const FilterRequest& ask, base::Instant now, Commands& out) {
  state_.begin(now);
  ScoreAnswer answer{.scores = Scores(ask.nodes.size(), 0), .held = {}};
  Scores& scores = answer.scores;
  const std::string settled = assigned_node(ask.pod.uid);
  if (!settled.empty()) {
    const auto there = std::find(ask.nodes.begin(), ask.nodes.end(), settled);
    if (there != ask.nodes.end()) {
      scores[static_cast<std::size_t>(there - ask.nodes.begin())] = kMaxScore;
    }
    return answer;
  }
  LiftedNominations lifted(state_, ask.pod.uid);
  const NodeIndex left = let_go(ask.pod.uid);
  state_.waiting.remove(ask.pod.uid);
  Candidates candidates = look_at(ask.pod, ask.nodes, Planner::Try::again, lifted);
  std::vector<std::uint64_t> costs;
  for (const NodeIndex node : candidates.nodes) {
    if (candidates.fits(node)) costs.push_back(candidates.ranking->cost(node));
  }
  std::sort(costs.begin(), costs.end());
  costs.erase(std::unique(costs.begin(), costs.end()), costs.end());
  const auto steps = static_cast<std::int64_t>(costs.size()) - 1;
  const bool best_is_cheapest =
      candidates.best.valid() && candidates.ranking->cost(candidates.best) == costs.front();
  for (std::size_t i = 0; i < candidates.nodes.size(); ++i) {
    const NodeIndex node = candidates.nodes[i];
    if (!candidates.fits(node)) continue;
    const auto at = std::lower_bound(costs.begin(), costs.end(), candidates.ranking->cost(node));
    const std::int64_t order = at - costs.begin();
    const std::int64_t down = steps == 0 ? 0 : (order * (kMaxScore - 1) + steps - 1) / steps;
    auto score = static_cast<std::int32_t>(kMaxScore - down);
    // The policy keeps the cheapest node for other pods, so the node that it chose gets the highest
    // score.
    if (!best_is_cheapest) score = node == candidates.best ? kMaxScore : std::min(score, 9);
    scores[i] = score;
  }
  if (candidates.best.valid() && asks_for_cards(ask.pod)) {
    answer.held = hold(ask.pod, candidates, ask.until, lifted).place;
  }
  finish(left, candidates.best, out);
  return answer;
}

ReserveAnswer ExternalPods::reserve(const ReserveRequest& ask, base::Instant now, Commands& out) {
  state_.begin(now);
  ReserveAnswer answer;
  const Hold* const hold_now = holds_.find(ask.pod.uid);
  if (hold_now != nullptr && !hold_now->binding && (hold_now->debt || !still_there(*hold_now))) {
    requeuer_.wake_after(let_go(ask.pod.uid), ask.pod.name);
  } else if (hold_now != nullptr && hold_now->place.node == ask.node) {
    answer.place = hold_now->place;
    answer.again = hold_now->binding;
    answer.held = true;
    if (!answer.again) mark_reserved(ask.pod.uid);
    return answer;
  }
  answer.bound_to = assigned_node(ask.pod.uid);
  if (!answer.bound_to.empty()) return answer;
  LiftedNominations lifted(state_, ask.pod.uid);
  const NodeIndex left = let_go(ask.pod.uid);
  state_.waiting.remove(ask.pod.uid);
  Candidates candidates = look_at(ask.pod, {ask.node}, Planner::Try::again, lifted);
  answer.unknown = !candidates.nodes.front().valid();
  if (candidates.best.valid()) {
    answer.place = hold(ask.pod, candidates, now, lifted).place;
    mark_reserved(ask.pod.uid);
  } else if (!answer.unknown) {
    answer.reason = candidates.ranking->reason(candidates.nodes.front());
    answer.reason.asked = asked_of(candidates.entry->shape, answer.reason.code);
  }
  finish(left, {}, out);
  return answer;
}

void ExternalPods::held(const PodHeld& e) {
  // Pre-allocated cards are taken already; nominations keep the rest.
  for (const auto& uid : state_.nominations.on_node(e.node)) state_.nominations.lift(uid);
  hold_pre_allocated(e);
  if (holds_.find(e.pod.uid) != nullptr) state_.nominations.close(e.pod.uid);
  for (const auto& uid : state_.nominations.on_node(e.node)) state_.nominations.keep(uid);
}

void ExternalPods::hold_pre_allocated(const PodHeld& e) {
  if (e.until <= state_.now || !asks_for_cards(e.pod)) return;
  if (ledger_.pods().find(e.pod.uid).valid()) return;
  if (state_.waiting.parked(e.pod.uid) != nullptr) return;  // a pod that we place ourselves
  const NodeIndex node = cluster_.find_present(e.node);
  const Positions at = cluster_.positions_on(e.node, e.cards);
  const bool free = node.valid() && at.absent.empty() &&
                    ledger_.cards_free(e.pod, node, at.cards) &&
                    cluster_.quotas.leaves(e.pod, ledger_.nodes().spec(node), at.cards);
  if (!free && !e.is_signed) return;
  const PodIndex held = ledger_.reserve_pre_allocated(e.pod, e.node, at.cards, at.absent);
  cluster_.quotas.charge(held, ledger_);
  holds_.add(
      {.pod = e.pod, .place = {.node = e.node, .cards = e.cards}, .until = e.until, .debt = !free});
}

bool ExternalPods::holds(const std::string& uid, const CardPlacement& place) const {
  const Hold* hold = holds_.find(uid);
  return hold != nullptr && hold->place == place && still_there(*hold);
}

bool ExternalPods::fits_somewhere(const PodSpec& pod) {
  state_.work.refill_search();
  const LiftedNominations lifted(state_, pod.uid);
  PodSpec scratch;
  const PodSpec cards = cluster_.bounded(cards_of(pod), scratch);
  Planner& planner = state_.planners.of(cards);
  Planner::Entry& entry = planner.entry_for(cards);
  (void)planner.arrived(entry, Planner::Try::again);
  if (planner.ranked(entry).feasible() > 0) return true;
  // Many pods are looked at in a row.
  if (state_.work.spent(state_.planners.effort())) return false;
  return !nominations_in_the_way(cards, entry, nullptr).empty();
}

PreemptAnswer ExternalPods::preempt(const PreemptRequest& ask) {
  state_.work.begin(state_.planners.effort());
  PodSpec scratch;
  const PodSpec pod = cluster_.bounded(cards_of(ask.pod), scratch);
  const Shape shape = make_shape(pod, ledger_);
  const ConstraintFilter more = cluster_.constraint_filter(pod);
  const PreemptionPlanner::Preemptor preemptor{
      .pod = pod, .shape = shape, .constraint_filter = more};
  const std::size_t nodes_to_try = PreemptionPlanner::limits(preemptor).in_vain;
  PreemptionPlanner planner = state_.nomination_planner();
  PreemptAnswer answer;
  std::size_t tried = 0;
  for (const auto& asked : ask.nodes) {
    const NodeIndex node = cluster_.find_present(asked.node);
    if (!node.valid()) continue;
    const bool enough = ++tried > nodes_to_try || state_.work.search_spent() ||
                        state_.work.spent(state_.planners.effort());
    if (enough) break;
    state_.work.add_looks(std::max(ledger_.nodes().pods_on(node).size(), asked.candidates.size()));
    if (auto victims = victims_on(asked, node, preemptor, planner)) {
      answer.nodes.push_back(std::move(*victims));
    }
  }
  return answer;
}

// The proposed victims go in any case. Of the others, the more important ones are spared first.
// Nominations of less important pods are spared last.
std::optional<PreemptAnswer::OnNode> ExternalPods::victims_on(
    const PreemptRequest::OnNode& asked, NodeIndex node,
    const PreemptionPlanner::Preemptor& preemptor, PreemptionPlanner& planner) {
  PreemptAnswer::OnNode result{.node = asked.node};
  PotentialVictims potential;
  const auto on_node = [&](PodIndex pod) {
    return pod.valid() && ledger_.pods().record(pod).node == node;
  };
  const auto leaves = [&](PodIndex pod) {
    if (on_node(pod)) potential.leaving.push_back(pod);
  };
  leaves(ledger_.pods().find(preemptor.pod.uid));
  leaves(state_.nominations.kept_for(preemptor.pod.uid));
  std::vector<PodIndex> others;
  for (const auto& candidate : asked.candidates) {
    const PodIndex pod = ledger_.pods().find(candidate.uid);
    if (candidate.given) {
      leaves(pod);
      result.victims.push_back(candidate.uid);
    } else if (on_node(pod) && holds_cards(ledger_.pods().record(pod)) &&
               std::find(others.begin(), others.end(), pod) == others.end()) {
      others.push_back(pod);
    }
  }
  result.kept = static_cast<std::int32_t>(result.victims.size());
  const PotentialVictims nominations = planner.less_important(preemptor.pod, node);
  potential.pods.assign(others.rbegin(), others.rend());
  potential.pods.insert(potential.pods.end(), nominations.pods.begin(), nominations.pods.end());
  const auto plan = planner.on_node(preemptor, node, potential);
  if (!plan) return std::nullopt;
  for (const PodIndex pod : others) {
    const auto& all = plan->victims;
    if (std::find(all.begin(), all.end(), pod) == all.end()) continue;
    result.victims.push_back(ledger_.pods().record(pod).uid);
    ++result.added;
  }
  return result;
}

}  // namespace stowage::core
