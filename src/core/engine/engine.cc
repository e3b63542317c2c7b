#include "core/engine/engine.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "core/engine/engine_state.h"
#include "core/engine/external_pods.h"
#include "core/engine/pod_placer.h"
#include "core/engine/requeuer.h"
#include "core/model/limits.h"

namespace stowage::core {

namespace {

Taint silence_taint(SilentNodes way) {
  return {.key = kSilentTaint,
          .value = "",
          .effect = way == SilentNodes::avoid ? TaintEffect::prefer_no_schedule
                                              : TaintEffect::no_schedule};
}

}  // namespace

// The engine's parts, and what each event does to them. It has one method for each kind of event.
class Engine::Body {
 public:
  Body(std::vector<PolicyOptions> profiles, const EngineOptions& options)
      : state(std::move(profiles), options) {}

  Commands handle(const Event& event, base::Instant now);

  EngineState state;
  PodPlacer placer{state};
  Requeuer requeuer{state, placer};
  ExternalPods external{state, requeuer};

 private:
  void on(const NodeChanged& e);
  void on(const NodeGone& e);
  void on(const PodPending& e);
  void on(const PodSeenBound& e);
  void on(const BindDone& e);
  void on(const BindFailed& e);
  void on(const PodGone& e);
  void on(const PodHeld& e);
  void on(const HoldEnded& e);
  void on(const QuotaChanged& e);
  void on(const Tick& e);
  void on(const PodNominated& e);
  void on(const ThingChanged& e) { cluster_.apply(e); }
  void on(const ThingGone& e) { cluster_.apply(e); }
  void on(const EvictFailed& e);
  void on(const Picked& e);
  void on(const StandDown& e);
  void on(const Lead& /*unused*/) { state.conflicts.lead(state.out); }
  // No pod is woken: how busy a card is decides where a pod goes, not whether it fits.
  void on(const CardsMeasured& e) { state.loads.measured(e); }
  void on(const CardsNamed& e);
  void on(const NodeSilent& e);
  void on(const Continue& /*unused*/) {}  // handle() goes on by itself
  void node_changed(const NodeSpec& spec);
  void close_nominations(const std::string& node);
  // Says why something that an event brings cannot be accepted. True: it can.
  bool accepts(const std::string& subject, const Status& valid);
  [[nodiscard]] Status acceptable(const PodSpec& pod) const;

  ClusterState& cluster_ = state.cluster;
  Ledger& ledger_ = state.cluster.ledger;
  std::set<std::string> silent_;  // nodes
  std::uint64_t arrivals_ = 0;
};

Commands Engine::Body::handle(const Event& event, base::Instant now) {
  state.planners.forget_unused();
  state.begin(now);
  state.loads.expire(now);
  requeuer.go_on();
  std::visit([this](const auto& e) { on(e); }, event);
  requeuer.try_helped();
  return std::exchange(state.out, {});
}

bool Engine::Body::accepts(const std::string& subject, const Status& valid) {
  if (!valid) state.out.emplace_back(Reject{.subject = subject, .why = valid.error().message});
  return valid.has_value();
}

// Everything that a pod may get wrong, in words.
Status Engine::Body::acceptable(const PodSpec& pod) const {
  STOWAGE_TRY_VOID(validate(pod));
  if (pod.profile >= state.planners.profiles()) {
    return fail("pod " + pod.name + " has an unknown profile");
  }
  return {};
}

void Engine::Body::on(const NodeChanged& e) {
  if (!silent_.contains(e.node.name)) return node_changed(e.node);
  NodeSpec tainted = e.node;
  tainted.taints.push_back(silence_taint(state.options.silent_nodes));
  node_changed(tainted);
}

void Engine::Body::on(const NodeSilent& e) {
  if (state.options.silent_nodes == SilentNodes::use) return;
  const bool changes = e.silent ? silent_.insert(e.node).second : silent_.erase(e.node) > 0;
  const NodeIndex node = ledger_.find_node(e.node);
  if (!changes || !node.valid() || !ledger_.present(node)) return;
  NodeSpec spec = ledger_.spec(node);
  std::erase_if(spec.taints, [](const Taint& taint) { return taint.key == kSilentTaint; });
  if (e.silent) spec.taints.push_back(silence_taint(state.options.silent_nodes));
  node_changed(spec);
}

void Engine::Body::node_changed(const NodeSpec& spec) {
  if (!accepts(spec.name, validate(spec))) return;
  const NodeIndex known = cluster_.find_present(spec.name);
  const NodeSpec* was = known.valid() ? &ledger_.spec(known) : nullptr;
  const bool comes = was == nullptr;
  const bool moved = comes || was->labels != spec.labels || was->taints != spec.taints;
  if (!comes && was->cards != spec.cards) close_nominations(spec.name);
  const NodeIndex node = ledger_.upsert_node(spec);
  state.loads.refresh(spec.name);
  if (moved) {
    cluster_.peers.nodes_changed();
    ++cluster_.epoch;
  }
  cluster_.quotas.node_changed(node, ledger_);
  if (comes) state.conflicts.settle(node, state.out);
  requeuer.wake(node);
}

void Engine::Body::close_nominations(const std::string& node) {
  for (const auto& uid : state.nominations.on_node(node)) state.nominations.close(uid, state.out);
}

void Engine::Body::on(const QuotaChanged& e) {
  cluster_.quotas.set(e.quotas, ledger_);
  state.nominations.quotas_changed();
  requeuer.run_or_defer({.kind = Step::Kind::parked});
}

void Engine::Body::on(const NodeGone& e) {
  close_nominations(e.name);
  state.loads.forget(e.name);
  ledger_.remove_node(e.name);
  cluster_.quotas.node_gone(e.name, ledger_);
  cluster_.peers.nodes_changed();
  ++cluster_.epoch;
}

void Engine::Body::on(const PodPending& e) {
  const std::string& uid = e.pod.uid;
  if (!accepts(uid, acceptable(e.pod)) || !accepts(uid, within_limits(e.pod))) return;
  if (ledger_.find_pod(uid).valid()) return;        // placed already
  const auto came = state.waiting.arrival_of(uid);  // set: it waits, and keeps its place
  const auto rests_until = state.waiting.rests_until(uid);
  if (came) state.waiting.remove(uid);
  if (rests_until) return state.waiting.rest(e.pod, *came, *rests_until);
  // It was for what the pod wanted before.
  const NodeIndex left = state.nominations.close(uid, state.out);
  requeuer.place(e.pod, came ? *came : arrivals_++,
                 came ? Planner::Try::again : Planner::Try::first);
  if (left.valid()) requeuer.wake(left);
}

void Engine::Body::on(const PodSeenBound& e) {
  const std::string& uid = e.pod.uid;
  if (!accepts(uid, acceptable(e.pod)) || !accepts(uid, validate(e.pod, e.cards))) return;
  state.waiting.remove(uid);
  state.binds.forget(uid);
  state.holds.forget(uid);
  state.refused_at.erase(uid);
  const NodeIndex kept_on = state.nominations.close(uid);
  const PodIndex known = ledger_.find_pod(uid);
  const NodeIndex was_on = known.valid() ? ledger_.pod(known).node : NodeIndex{};
  const std::uint64_t changes = ledger_.change_count();
  if (known.valid()) cluster_.unseat(known);
  const Positions at = e.cards ? cluster_.positions_on(e.node, *e.cards) : Positions{};
  const PodIndex pod = ledger_.seen_bound(
      e.pod, e.node, e.cards ? std::optional(at.cards) : std::nullopt, at.absent);
  cluster_.seat(pod, e.pod);
  const NodeIndex is_on = ledger_.pod(pod).node;
  const bool placed_now = e.placed != 0 && ledger_.pod(pod).placed == 0;
  ledger_.set_placed(pod, e.placed, e.placed_by_then);
  if (placed_now) state.conflicts.settle(is_on, state.out);
  if (!known.valid()) state.planners.teach_all(e.pod, pod);
  if (kept_on.valid()) requeuer.wake(kept_on);
  if (ledger_.change_count() == changes) return;
  // It may hold less than we thought, or be elsewhere. And where it is known to be, no pod can be
  // that has whole cards which nobody has named.
  const bool clearer = ledger_.state(is_on).unnamed;
  if (known.valid()) requeuer.wake(was_on);
  if (clearer && is_on != was_on) requeuer.wake(is_on);
}

void Engine::Body::on(const BindDone& e) {
  const PodIndex pod = ledger_.find_pod(e.uid);
  if (!pod.valid()) return;
  ledger_.confirm(pod);
  state.binds.forget(e.uid);
  state.holds.forget(e.uid);
}

void Engine::Body::on(const BindFailed& e) {
  if (state.holds.find(e.uid) != nullptr) return external.end_hold(e.uid);
  const auto bind = state.binds.take(e.uid);
  const PodIndex pod = ledger_.find_pod(e.uid);
  if (!bind || !pod.valid()) return;
  requeuer.wake_after(state.release(pod), bind->pod.name);
  state.waiting.rest(bind->pod, bind->arrival, state.binds.failed(e.uid, state.now));
}

void Engine::Body::on(const EvictFailed& e) {
  const PodIndex victim = ledger_.find_pod(e.uid);
  if (victim.valid()) ledger_.set_leaving(victim, false);
  for (const auto& uid : state.nominations.waiting_for(e.uid)) {
    const NodeIndex node = state.nominations.close(uid, state.out);
    if (node.valid()) requeuer.wake(node);
  }
}

void Engine::Body::on(const PodGone& e) {
  state.conflicts.forget(e.uid);
  state.refused_at.erase(e.uid);
  state.holds.forget(e.uid);
  const NodeIndex kept_on = state.nominations.close(e.uid);
  if (kept_on.valid()) requeuer.wake(kept_on);
  state.binds.forget(e.uid);
  if (state.waiting.remove(e.uid)) return;
  const PodIndex pod = ledger_.find_pod(e.uid);
  if (!pod.valid()) return;
  const std::string name = ledger_.pod(pod).name;
  requeuer.wake_after(state.release(pod), name);
}

void Engine::Body::on(const PodHeld& e) {
  const std::string& uid = e.pod.uid;
  if (!accepts(uid, acceptable(e.pod)) || !accepts(uid, validate(e.pod, std::optional(e.cards)))) {
    return;
  }
  external.held(e);
}

void Engine::Body::on(const HoldEnded& e) {
  const Hold* hold = state.holds.find(e.uid);
  if (hold != nullptr && !hold->claimed) external.end_hold(e.uid);
}

void Engine::Body::on(const PodNominated& e) {
  if (!accepts(e.pod.uid, acceptable(e.pod)) || ledger_.find_pod(e.pod.uid).valid()) return;
  const Nomination* known = state.nominations.find(e.pod.uid);
  if (known != nullptr && (!known->from_api || known->node == e.node)) return;
  const NodeIndex left = state.nominations.close(e.pod.uid);
  if (!e.node.empty()) placer.honour_nomination(e.pod, e.node);
  if (left.valid()) requeuer.wake(left);
}

void Engine::Body::on(const Picked& e) {
  const PodPlacer::Outcome outcome = placer.picked(e);
  if (outcome.left.valid()) requeuer.wake(outcome.left);
}

void Engine::Body::on(const Tick& e) {
  external.expire_holds();
  requeuer.expire_nominations();
  if (state.waiting.resting() > 0) requeuer.run_or_defer({.kind = Step::Kind::rested});
  if (e.parked) requeuer.run_or_defer({.kind = Step::Kind::some});
  requeuer.run_or_defer({.kind = Step::Kind::starving});
}

// No pod waits any more when places are given back, so none is woken.
void Engine::Body::on(const StandDown& /*unused*/) {
  state.conflicts.stand_down();
  state.loads.clear();  // agents tell another one from now on
  requeuer.clear();
  state.refused_at.clear();
  while (!state.nominations.empty()) {
    state.nominations.close(std::string(state.nominations.all().begin()->first));
  }
  const std::vector<std::string> unsettled = state.binds.uids();
  state.binds.clear();
  for (const std::string& uid : unsettled) {
    const PodIndex pod = ledger_.find_pod(uid);
    if (pod.valid()) (void)state.release(pod);
  }
  for (const std::string& uid : state.holds.uids()) (void)external.let_go(uid);
}

// What is known to be used is less than what might have been: there may be room for others.
void Engine::Body::on(const CardsNamed& e) {
  const PodSpec pod{.uid = e.uid, .name = e.uid, .containers = e.containers};
  if (!accepts(e.uid, validate(pod, std::optional(e.cards)))) return;
  const PodIndex known = ledger_.find_pod(e.uid);
  if (!known.valid()) return;
  const NodeIndex node = ledger_.pod(known).node;
  if (!ledger_.present(node) || ledger_.name(node) != e.node) return;
  const auto cards = by_position(e.cards, ledger_.spec(node));
  if (!cards || !ledger_.name_cards(known, footprint(pod, *cards))) return;
  cluster_.quotas.charge(known, ledger_);
  const std::string name = ledger_.pod(known).name;
  requeuer.wake_after(node, name);
}

// ---- the engine -----------------------------------------------------------------------------

Engine::Engine(PolicyOptions options) : Engine(std::vector<PolicyOptions>{std::move(options)}) {}
Engine::Engine(std::vector<PolicyOptions> profiles, EngineOptions options)
    : body_(std::make_unique<Body>(std::move(profiles), options)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Commands Engine::handle(const Event& event, base::Instant now) { return body_->handle(event, now); }
bool Engine::unfinished() const { return body_->requeuer.unfinished(); }
Commands Engine::handle_all(const Event& event, base::Instant now) {
  Commands all = handle(event, now);
  while (unfinished()) {
    Commands more = handle(Continue{}, now);
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }
  return all;
}
FilterAnswer Engine::filter(const FilterAsk& ask, base::Instant now, Commands& out) {
  return body_->external.filter(ask, now, out);
}
ScoreAnswer Engine::score(const FilterAsk& ask, base::Instant now, Commands& out) {
  return body_->external.score(ask, now, out);
}
ClaimAnswer Engine::claim(const ClaimAsk& ask, base::Instant now, Commands& out) {
  return body_->external.claim(ask, now, out);
}
bool Engine::holds(const std::string& uid, const Place& place) const {
  return body_->external.holds(uid, place);
}
bool Engine::fits_somewhere(const PodSpec& pod) { return body_->external.fits_somewhere(pod); }
PreemptAnswer Engine::preempt(const PreemptAsk& ask) { return body_->external.preempt(ask); }
const Ledger& Engine::ledger() const { return body_->state.cluster.ledger; }

std::vector<Engine::NodeVerdict> Engine::explain(const PodSpec& unbounded) {
  EngineState& state = body_->state;
  const Ledger& ledger = state.cluster.ledger;
  state.work.refill_search();
  PodSpec scratch;
  const PodSpec& pod = state.cluster.bounded(unbounded, scratch);
  const Shape shape = make_shape(pod, state.cluster.ledger);
  const Beyond more = state.cluster.beyond(pod);
  std::vector<NodeVerdict> verdicts;
  for (std::size_t n = 0; n < ledger.node_slots(); ++n) {
    const NodeIndex node(n);
    if (!ledger.present(node)) continue;
    Reason reason = state.planners.of(pod).verdict(shape, node);
    if (reason.code == ReasonCode::none) {
      reason.code = more.trouble().empty() ? more.check(node) : ReasonCode::claim;
    }
    verdicts.push_back({ledger.spec(node).name, reason});
  }
  return verdicts;
}

std::string Engine::record_decision(const PodSpec& pod) {
  EngineState& state = body_->state;
  state.work.refill_search();
  const Beyond more = state.cluster.beyond(pod);
  Planner::Heed heed;
  if (more.any()) {
    heed.allowed = [&](NodeIndex node) {
      return more.trouble().empty() && more.check(node) == ReasonCode::none;
    };
  }
  return to_text(state.planners.of(pod).record(pod, heed));
}

Result<Commands> Engine::replay(const DecisionRecord& record) {
  body_->state.work.refill_search();
  return body_->state.planners.first().replay(record);
}

Engine::Counters Engine::counters() const {
  const EngineState& state = body_->state;
  Counters counters = state.counters;
  const PlannerTable::Totals planners = state.planners.totals();
  counters.nodes_judged = planners.judged;
  counters.shapes = planners.shapes;
  counters.models_learned = planners.models_learned;
  counters.waiting = state.waiting.size();
  counters.resting = state.waiting.resting();
  counters.binding = state.binds.size();
  counters.held = state.holds.size();
  counters.rooms = state.nominations.all().size();
  counters.rooms_opened = state.nominations.opened();
  counters.by_others = state.waiting.due().size();
  counters.loads = state.loads.nodes();
  counters.conflicts = state.conflicts.found();
  return counters;
}

std::vector<std::string> Engine::audit() {
  std::vector<std::string> wrong = body_->state.cluster.ledger.audit();
  for (auto& line : body_->state.cluster.peers.audit()) wrong.push_back(std::move(line));
  return wrong;
}

}  // namespace stowage::core
