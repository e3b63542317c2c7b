// Preemption: a plan is carried out, and what the victims leave is kept for the pod.
#include <utility>

#include "core/engine/body.h"
#include "core/engine/preemption_planner.h"

namespace stowage::core {

PreemptionPlanner Engine::Body::preemption_planner() {
  return PreemptionPlanner({.ledger = ledger_,
                            .peers = peers_,
                            .budgets = budgets_,
                            .nominations = nominations_,
                            .search = search_,
                            .evicts = options_.preemption});
}

std::optional<VictimPlan> Engine::Body::plan_preemption(const Attempt& attempt) {
  const PodSpec& pod = attempt.pod;
  const bool anybody = options_.preemption && !pod.never_preempts && !priorities_.empty() &&
                       priorities_.begin()->first < pod.priority;
  if (!anybody && !nominations_.any_below(pod.priority)) return std::nullopt;
  const Nomination* own = nominations_.find(pod.uid);
  if (own != nullptr && own->preempts && nominations_.victims_pending(*own)) {
    return std::nullopt;  // they are on their way
  }
  const std::string key =
      group_key(attempt.asked, attempt.beyond.any()) + '!' + std::to_string(pod.priority);
  const auto state = [this] { return ledger_.change_count() + peers_.changes() + epoch_; };
  if (fruitless_ == std::pair(key, state())) return std::nullopt;
  const Ranking& ranking = attempt.entry.ranking;
  std::vector<NodeIndex> nodes;
  for (std::size_t n = 0; n < ranking.slots(); ++n) {
    const NodeIndex node(n);
    if (!ledger_.present(node)) continue;
    const ReasonCode code =
        ranking.feasible(node) ? check(attempt, node) : ranking.reason(node).code;
    if (curable(code)) nodes.push_back(node);
  }
  auto plan = preemption_planner().cheapest(
      {.pod = pod, .shape = attempt.entry.shape, .beyond = attempt.beyond}, nodes);
  if (!plan) fruitless_ = {key, state()};
  return plan;
}

bool Engine::Body::make_way(Attempt& attempt, Refusal& refusal) {
  const PodSpec& pod = attempt.pod;
  if (!attempt.beyond.trouble().empty()) return false;
  const auto plan = plan_preemption(attempt);
  if (!plan) return false;
  ++counters_.preemptions;
  Nomination made{.pod = attempt.asked,
                  .node = ledger_.name(plan->node),
                  .target = plan->cards,
                  .until = {now_.ns + options_.preempt_room_ns},
                  .preempts = true};
  std::vector<std::string> nominations_taken;
  for (const PodIndex victim : plan->victims) {
    const PodRecord& record = ledger_.pod(victim);
    const Nomination* other = nominations_.of_record(record);
    if (other != nullptr) {
      nominations_taken.push_back(other->pod.uid);
    } else {
      made.victims.push_back(record.uid);
    }
  }
  for (const auto& uid : nominations_taken) nominations_.close(uid, out_);
  if (made.victims.empty() && !plan->others_leave) {  // only what was kept for others
    attempt.prefer = made.node;
    attempt.beyond = beyond(pod);
    const Planner::Choice choice = choose(attempt);
    if (!choice.node.valid()) return false;
    settle(attempt, choice.node);
    return true;
  }
  for (const auto& uid : made.victims) {
    ledger_.set_leaving(ledger_.find_pod(uid), true);
    out_.emplace_back(Evict{.uid = uid, .by = pod.uid, .node = made.node});
  }
  counters_.evicted += made.victims.size();
  refusal.making_room_on = made.node;
  refusal.victims = static_cast<std::int32_t>(made.victims.size());
  nominations_.open(std::move(made), out_);
  return false;
}

void Engine::Body::on(const EvictFailed& e) {
  const PodIndex victim = ledger_.find_pod(e.uid);
  if (victim.valid()) ledger_.set_leaving(victim, false);
  for (const auto& uid : nominations_.waiting_for(e.uid)) {
    const NodeIndex node = nominations_.close(uid, out_);
    if (node.valid()) wake(node);
  }
}

}  // namespace stowage::core
