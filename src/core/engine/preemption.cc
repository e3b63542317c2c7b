// Preemption: executes a plan and keeps the freed capacity for the pod.
#include <utility>

#include "core/engine/pod_placer.h"

namespace stowage::core {

std::optional<VictimPlan> PodPlacer::plan_preemption(const Attempt& attempt) {
  const PodSpec& pod = attempt.pod;
  const bool anybody =
      state_.options.preemption && !pod.never_preempts && cluster_.any_below(pod.priority);
  if (!anybody && !state_.nominations.any_below(pod.priority)) return std::nullopt;
  const Nomination* own = state_.nominations.find(pod.uid);
  if (own != nullptr && own->preempts && state_.nominations.victims_pending(*own)) {
    return std::nullopt;  // the victims are terminating
  }
  const std::string key = group_key(attempt.asked, attempt.constraint_filter.any()) + '!' +
                          std::to_string(pod.priority);
  if (fruitless_ == std::pair(key, cluster_.version())) return std::nullopt;
  const Ranking& ranking = attempt.entry.ranking;
  std::vector<NodeIndex> nodes;
  for (std::size_t n = 0; n < ranking.rows(); ++n) {
    const NodeIndex node(n);
    if (!ledger_.nodes().present(node)) continue;
    const ReasonCode code =
        ranking.feasible(node) ? check(attempt, node) : ranking.reason(node).code;
    if (resolvable(code)) nodes.push_back(node);
  }
  PreemptionPlanner victims = state_.preemption_planner();
  auto plan = victims.cheapest(
      {.pod = pod, .shape = attempt.entry.shape, .constraint_filter = attempt.constraint_filter},
      nodes);
  cluster_.touch(victims.taken());
  if (!plan) fruitless_ = {key, cluster_.version()};
  return plan;
}

bool PodPlacer::make_way(Attempt& attempt, Refusal& refusal) {
  const PodSpec& pod = attempt.pod;
  if (!attempt.constraint_filter.trouble().empty()) return false;
  const auto plan = plan_preemption(attempt);
  if (!plan) return false;
  ++state_.counters.preemptions;
  Nomination made{.pod = attempt.asked,
                  .node = ledger_.nodes().name(plan->node),
                  .target = plan->cards,
                  .until = {state_.now.ns + state_.options.preemption_nomination_ns},
                  .preempts = true};
  for (const PodIndex victim : plan->victims) {
    const PodRecord& record = ledger_.pods().record(victim);
    if (record.state != PodState::nomination) made.victims.push_back(record.uid);
  }
  for (const auto& uid : state_.nominations.among(plan->victims)) {
    state_.nominations.close(uid, state_.out);
  }
  if (made.victims.empty() &&
      !plan->others_leave) {  // only capacity that was nominated for other pods
    attempt.prefer = made.node;
    attempt.constraint_filter = cluster_.constraint_filter(pod);
    const Planner::Choice choice = choose(attempt);
    if (!choice.node.valid()) return false;
    resolve(attempt, choice.node);
    return true;
  }
  for (const auto& uid : made.victims) {
    ledger_.set_leaving(ledger_.pods().find(uid), true);
    state_.out.emplace_back(Evict{.uid = uid, .by = pod.uid, .node = made.node});
  }
  state_.counters.evicted += made.victims.size();
  refusal.making_room_on = made.node;
  refusal.victims = static_cast<std::int32_t>(made.victims.size());
  state_.nominations.open(std::move(made), state_.out);
  return false;
}

void PodPlacer::honour_nomination(const PodSpec& pod, const std::string& node_name) {
  const NodeIndex node = ledger_.nodes().find(node_name);
  if (!node.valid() || !ledger_.nodes().present(node)) return;
  // The other scheduler judges the rest; only cards and resources matter here.
  PodSpec bare = pod;
  bare.rules = {};
  bare.constraints = {};
  Assignment target;
  target.containers.resize(pod.containers.size());
  // If a device plugin picks the cards, the pod may get any card that becomes free. Which cards its
  // scheduler wants to free is unknown.
  const bool by_number = pod.naming != Naming::always && unnamed_use(unnamed_asks(pod)).shared == 0;
  if (!by_number) {
    const Shape shape = make_shape(bare, ledger_);
    const ConstraintFilter more = cluster_.constraint_filter(bare);
    PreemptionPlanner victims = state_.preemption_planner();
    const auto plan = victims.on_node({.pod = bare, .shape = shape, .constraint_filter = more},
                                      node, victims.less_important(bare, node));
    cluster_.touch(victims.taken());
    if (plan) target = plan->cards;
  }
  state_.nominations.open({.pod = pod,
                           .node = node_name,
                           .target = std::move(target),
                           .until = {state_.now.ns + state_.options.preemption_nomination_ns},
                           .preempts = true,
                           .from_api = true},
                          state_.out);
}

}  // namespace stowage::core
