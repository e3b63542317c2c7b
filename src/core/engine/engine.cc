#include "core/engine/engine.h"

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

// The engine's parts, and one method per kind of event.
class Engine::Impl {
 public:
  Impl(std::vector<PolicyOptions> profiles, const EngineOptions& options)
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
  void on(const AuxObjectChanged& e) { cluster_.apply(e); }
  void on(const AuxObjectGone& e) { cluster_.apply(e); }
  void on(const EvictFailed& e);
  void on(const Picked& e);
  void on(const StandDown& e);
  void on(const Lead& /*unused*/) { state.conflicts.lead(state.out); }
  // Wakes no pod: the load of a card decides where a pod goes, not whether it fits.
  void on(const CardsMeasured& e) { state.loads.measured(e); }
  void on(const CardsNamed& e);
  void on(const NodeSilent& e);
  void on(const PluginMissing& e);
  void on(const Continue& /*unused*/) {}  // handle() continues deferred steps itself
  void node_changed(const NodeSpec& spec);
  void close_nominations(const std::string& node);
  // Emits a Reject if `valid` is an error. True: accepted.
  bool accepts(const std::string& subject, const Status& valid);
  [[nodiscard]] Status acceptable(const PodSpec& pod) const;

  ClusterState& cluster_ = state.cluster;
  Ledger& ledger_ = state.cluster.ledger;
  // Nodes by name, whether they exist or not.
  std::set<std::string> silent_;
  std::set<std::string> plugin_missing_;
  std::uint64_t arrivals_ = 0;
};

Commands Engine::Impl::handle(const Event& event, base::Instant now) {
  state.planners.forget_unused();
  state.begin(now);
  state.loads.expire(now);
  requeuer.go_on();
  std::visit([this](const auto& e) { on(e); }, event);
  requeuer.try_helped();
  return std::exchange(state.out, {});
}

bool Engine::Impl::accepts(const std::string& subject, const Status& valid) {
  if (!valid) state.out.emplace_back(Reject{.subject = subject, .why = valid.error().message});
  return valid.has_value();
}

// Validates everything that a pod specifies.
Status Engine::Impl::acceptable(const PodSpec& pod) const {
  STOWAGE_TRY_VOID(validate(pod));
  if (pod.profile >= state.planners.profiles()) {
    return fail("pod " + pod.name + " has an unknown profile");
  }
  return {};
}

// An object of the API has no knowledge of the node's agent.
void Engine::Impl::on(const NodeChanged& e) {
  const bool silent = silent_.contains(e.node.name);
  const bool plugin_missing = plugin_missing_.contains(e.node.name);
  if (!silent && !plugin_missing) return node_changed(e.node);
  NodeSpec spec = e.node;
  if (silent) spec.taints.push_back(silence_taint(state.options.silent_nodes));
  spec.plugin_missing = plugin_missing;
  node_changed(spec);
}

void Engine::Impl::on(const NodeSilent& e) {
  if (state.options.silent_nodes == SilentNodes::use) return;
  const bool changes = e.silent ? silent_.insert(e.node).second : silent_.erase(e.node) > 0;
  const NodeIndex node = ledger_.nodes().find(e.node);
  if (!changes || !node.valid() || !ledger_.nodes().present(node)) return;
  NodeSpec spec = ledger_.nodes().spec(node);
  std::erase_if(spec.taints, [](const Taint& taint) { return taint.key == kSilentTaint; });
  if (e.silent) spec.taints.push_back(silence_taint(state.options.silent_nodes));
  node_changed(spec);
}

void Engine::Impl::on(const PluginMissing& e) {
  const bool changes =
      e.missing ? plugin_missing_.insert(e.node).second : plugin_missing_.erase(e.node) > 0;
  const NodeIndex node = ledger_.nodes().find(e.node);
  if (!changes || !node.valid() || !ledger_.nodes().present(node)) return;
  NodeSpec spec = ledger_.nodes().spec(node);
  spec.plugin_missing = e.missing;
  node_changed(spec);
}

void Engine::Impl::node_changed(const NodeSpec& spec) {
  if (!accepts(spec.name, validate(spec))) return;
  const NodeIndex known = cluster_.find_present(spec.name);
  const NodeSpec* was = known.valid() ? &ledger_.nodes().spec(known) : nullptr;
  const bool comes = was == nullptr;
  const bool moved = comes || was->labels != spec.labels || was->taints != spec.taints;
  if (!comes && was->cards != spec.cards) close_nominations(spec.name);
  const NodeIndex node = ledger_.upsert_node(spec);
  state.loads.refresh(spec.name);
  if (moved) {
    cluster_.affinity.nodes_changed();
    ++cluster_.epoch;
  }
  cluster_.quotas.node_changed(node, ledger_);
  if (comes) state.conflicts.resolve(node, state.out);
  requeuer.wake(node);
}

void Engine::Impl::close_nominations(const std::string& node) {
  for (const auto& uid : state.nominations.on_node(node)) state.nominations.close(uid, state.out);
}

void Engine::Impl::on(const QuotaChanged& e) {
  cluster_.quotas.set(e.quotas, ledger_);
  state.nominations.quotas_changed();
  requeuer.run_or_defer({.kind = Step::Kind::parked});
}

void Engine::Impl::on(const NodeGone& e) {
  close_nominations(e.name);
  state.loads.forget(e.name);
  ledger_.remove_node(e.name);
  cluster_.quotas.node_gone(e.name, ledger_);
  cluster_.affinity.nodes_changed();
  ++cluster_.epoch;
}

void Engine::Impl::on(const PodPending& e) {
  const std::string& uid = e.pod.uid;
  if (!accepts(uid, acceptable(e.pod)) || !accepts(uid, within_limits(e.pod))) return;
  if (ledger_.pods().find(uid).valid()) return;  // already placed
  const auto came =
      state.waiting.arrival_of(uid);  // set: the pod waits already and keeps its position
  const auto rests_until = state.waiting.rests_until(uid);
  if (came) state.waiting.remove(uid);
  if (rests_until) return state.waiting.rest(e.pod, *came, *rests_until);
  // The nomination was for what the pod asked for before.
  const NodeIndex left = state.nominations.close(uid, state.out);
  requeuer.place(e.pod, came ? *came : arrivals_++,
                 came ? Planner::Try::again : Planner::Try::first);
  if (left.valid()) requeuer.wake(left);
}

void Engine::Impl::on(const PodSeenBound& e) {
  const std::string& uid = e.pod.uid;
  if (!accepts(uid, acceptable(e.pod)) || !accepts(uid, validate(e.pod, e.cards))) return;
  state.waiting.remove(uid);
  state.binds.forget(uid);
  state.holds.forget(uid);
  state.refused_at.erase(uid);
  const NodeIndex kept_on = state.nominations.close(uid);
  const PodIndex known = ledger_.pods().find(uid);
  const NodeIndex was_on = known.valid() ? ledger_.pods().record(known).node : NodeIndex{};
  const std::uint64_t changes = ledger_.changes().count();
  if (known.valid()) cluster_.remove_pod(known);
  const Positions at = e.cards ? cluster_.positions_on(e.node, *e.cards) : Positions{};
  const PodIndex pod = ledger_.seen_bound(
      e.pod, e.node, e.cards ? std::optional(at.cards) : std::nullopt, at.absent);
  cluster_.add_pod(pod, e.pod);
  const NodeIndex is_on = ledger_.pods().record(pod).node;
  const bool placed_now = e.placed != 0 && ledger_.pods().record(pod).placed == 0;
  ledger_.set_placed(pod, e.placed, e.placed_by_then);
  if (placed_now) state.conflicts.resolve(is_on, state.out);
  if (!known.valid()) state.planners.teach_all(e.pod, pod);
  if (kept_on.valid()) requeuer.wake(kept_on);
  if (ledger_.changes().count() == changes) return;
  // The pod may use less than assumed, or be on another node. Also, its known cards cannot belong
  // to a pod with whole cards that are not named.
  const bool clearer = ledger_.nodes().state(is_on).unnamed;
  if (known.valid()) requeuer.wake(was_on);
  if (clearer && is_on != was_on) requeuer.wake(is_on);
}

void Engine::Impl::on(const BindDone& e) {
  const PodIndex pod = ledger_.pods().find(e.uid);
  if (!pod.valid()) return;
  ledger_.confirm(pod);
  state.binds.forget(e.uid);
  state.holds.forget(e.uid);
}

void Engine::Impl::on(const BindFailed& e) {
  if (state.holds.find(e.uid) != nullptr) return external.end_hold(e.uid);
  const auto bind = state.binds.take(e.uid);
  const PodIndex pod = ledger_.pods().find(e.uid);
  if (!bind || !pod.valid()) return;
  requeuer.wake_after(state.release(pod), bind->pod.name);
  state.waiting.rest(bind->pod, bind->arrival, state.binds.failed(e.uid, state.now));
}

void Engine::Impl::on(const EvictFailed& e) {
  const PodIndex victim = ledger_.pods().find(e.uid);
  if (victim.valid()) ledger_.set_leaving(victim, false);
  for (const auto& uid : state.nominations.waiting_for(e.uid)) {
    const NodeIndex node = state.nominations.close(uid, state.out);
    if (node.valid()) requeuer.wake(node);
  }
}

void Engine::Impl::on(const PodGone& e) {
  state.conflicts.forget(e.uid);
  state.refused_at.erase(e.uid);
  state.holds.forget(e.uid);
  const NodeIndex kept_on = state.nominations.close(e.uid);
  if (kept_on.valid()) requeuer.wake(kept_on);
  state.binds.forget(e.uid);
  if (state.waiting.remove(e.uid)) return;
  const PodIndex pod = ledger_.pods().find(e.uid);
  if (!pod.valid()) return;
  const std::string name = ledger_.pods().record(pod).name;
  requeuer.wake_after(state.release(pod), name);
}

void Engine::Impl::on(const PodHeld& e) {
  const std::string& uid = e.pod.uid;
  if (!accepts(uid, acceptable(e.pod)) || !accepts(uid, validate(e.pod, std::optional(e.cards)))) {
    return;
  }
  external.held(e);
}

void Engine::Impl::on(const HoldEnded& e) {
  const Hold* hold = state.holds.find(e.uid);
  if (hold != nullptr && !hold->binding) external.end_hold(e.uid);
}

void Engine::Impl::on(const PodNominated& e) {
  if (!accepts(e.pod.uid, acceptable(e.pod)) || ledger_.pods().find(e.pod.uid).valid()) return;
  const Nomination* known = state.nominations.find(e.pod.uid);
  if (known != nullptr && (!known->from_api || known->node == e.node)) return;
  const NodeIndex left = state.nominations.close(e.pod.uid);
  if (!e.node.empty()) placer.honour_nomination(e.pod, e.node);
  if (left.valid()) requeuer.wake(left);
}

void Engine::Impl::on(const Picked& e) {
  const PodPlacer::Outcome outcome = placer.picked(e);
  if (outcome.left.valid()) requeuer.wake(outcome.left);
}

void Engine::Impl::on(const Tick& e) {
  external.expire_holds();
  requeuer.expire_nominations();
  if (state.waiting.resting() > 0) requeuer.run_or_defer({.kind = Step::Kind::rested});
  if (e.parked) requeuer.run_or_defer({.kind = Step::Kind::some});
  requeuer.run_or_defer({.kind = Step::Kind::starving});
}

// No pod is waiting any more when the capacity is released, so none is woken.
void Engine::Impl::on(const StandDown& /*unused*/) {
  state.conflicts.stand_down();
  state.loads.clear();  // agents report to another leader now
  requeuer.clear();
  state.refused_at.clear();
  while (!state.nominations.empty()) {
    state.nominations.close(std::string(state.nominations.all().begin()->first));
  }
  const std::vector<std::string> unsettled = state.binds.uids();
  state.binds.clear();
  for (const std::string& uid : unsettled) {
    const PodIndex pod = ledger_.pods().find(uid);
    if (pod.valid()) (void)state.release(pod);
  }
  for (const std::string& uid : state.holds.uids()) (void)external.let_go(uid);
}

// The known use is at most the assumed use, so there may be capacity for other pods.
void Engine::Impl::on(const CardsNamed& e) {
  const PodSpec pod{.uid = e.uid, .name = e.uid, .containers = e.containers};
  if (!accepts(e.uid, validate(pod, std::optional(e.cards)))) return;
  const PodIndex known = ledger_.pods().find(e.uid);
  if (!known.valid()) return;
  const NodeIndex node = ledger_.pods().record(known).node;
  if (!ledger_.nodes().present(node) || ledger_.nodes().name(node) != e.node) return;
  const auto cards = by_position(e.cards, ledger_.nodes().spec(node));
  if (!cards || !ledger_.name_cards(known, footprint(pod, *cards))) return;
  cluster_.quotas.charge(known, ledger_);
  const std::string name = ledger_.pods().record(known).name;
  requeuer.wake_after(node, name);
}

// ---- the engine -----------------------------------------------------------------------------

Engine::Engine(PolicyOptions options) : Engine(std::vector<PolicyOptions>{std::move(options)}) {}
Engine::Engine(std::vector<PolicyOptions> profiles, EngineOptions options)
    : impl_(std::make_unique<Impl>(std::move(profiles), options)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Commands Engine::handle(const Event& event, base::Instant now) { return impl_->handle(event, now); }
bool Engine::unfinished() const { return impl_->requeuer.unfinished(); }
Commands Engine::handle_all(const Event& event, base::Instant now) {
  Commands all = handle(event, now);
  while (unfinished()) {
    Commands more = handle(Continue{}, now);
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }
  return all;
}
FilterAnswer Engine::filter(const FilterRequest& ask, base::Instant now, Commands& out) {
  return impl_->external.filter(ask, now, out);
}
ScoreAnswer Engine::score(const FilterRequest& ask, base::Instant now, Commands& out) {
  return impl_->external.score(ask, now, out);
}
ReserveAnswer Engine::reserve(const ReserveRequest& ask, base::Instant now, Commands& out) {
  return impl_->external.reserve(ask, now, out);
}
bool Engine::holds(const std::string& uid, const CardPlacement& place) const {
  return impl_->external.holds(uid, place);
}
bool Engine::fits_somewhere(const PodSpec& pod) { return impl_->external.fits_somewhere(pod); }
PreemptAnswer Engine::preempt(const PreemptRequest& ask) { return impl_->external.preempt(ask); }
const Ledger& Engine::ledger() const { return impl_->state.cluster.ledger; }

std::vector<Engine::NodeVerdict> Engine::explain(const PodSpec& unbounded) {
  EngineState& state = impl_->state;
  const Ledger& ledger = state.cluster.ledger;
  state.work.refill_search();
  PodSpec scratch;
  const PodSpec& pod = state.cluster.bounded(unbounded, scratch);
  const Shape shape = make_shape(pod, state.cluster.ledger);
  const ConstraintFilter more = state.cluster.constraint_filter(pod);
  std::vector<NodeVerdict> verdicts;
  for (std::size_t n = 0; n < ledger.nodes().rows(); ++n) {
    const NodeIndex node(n);
    if (!ledger.nodes().present(node)) continue;
    Reason reason = state.planners.of(pod).verdict(shape, node);
    if (reason.code == ReasonCode::none) {
      reason.code = more.trouble().empty() ? more.check(node) : ReasonCode::claim;
    }
    verdicts.push_back({ledger.nodes().spec(node).name, reason});
  }
  return verdicts;
}

std::string Engine::record_decision(const PodSpec& pod) {
  EngineState& state = impl_->state;
  state.work.refill_search();
  const ConstraintFilter more = state.cluster.constraint_filter(pod);
  Planner::ChoiceOptions choice_options;
  if (more.any()) {
    choice_options.allowed = [&](NodeIndex node) {
      return more.trouble().empty() && more.check(node) == ReasonCode::none;
    };
  }
  return to_text(state.planners.of(pod).record(pod, choice_options));
}

Result<Commands> Engine::replay(const DecisionRecord& record) {
  impl_->state.work.refill_search();
  return impl_->state.planners.first().replay(record);
}

Engine::Counters Engine::counters() const {
  const EngineState& state = impl_->state;
  Counters counters = state.counters;
  const PlannerTable::Totals planners = state.planners.totals();
  counters.nodes_judged = planners.judged;
  counters.shapes = planners.shapes;
  counters.models_learned = planners.models_learned;
  counters.waiting = state.waiting.size();
  counters.resting = state.waiting.resting();
  counters.binding = state.binds.size();
  counters.held = state.holds.size();
  counters.nominations = state.nominations.all().size();
  counters.nominations_opened = state.nominations.opened();
  counters.by_others = state.waiting.due().size();
  counters.loads = state.loads.nodes();
  counters.conflicts = state.conflicts.found();
  return counters;
}

std::vector<std::string> Engine::audit() {
  std::vector<std::string> wrong = impl_->state.cluster.ledger.audit();
  for (auto& line : impl_->state.cluster.affinity.audit()) wrong.push_back(std::move(line));
  return wrong;
}

}  // namespace stowage::core
