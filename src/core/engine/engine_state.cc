#include "core/engine/engine_state.h"

#include <utility>

namespace stowage::core {

EngineState::EngineState(std::vector<PolicyOptions> profiles, const EngineOptions& given)
    : options(given),
      loads(cluster.ledger, options.load_delay_ns),
      work(options.judgements_per_event, options.search_per_event),
      planners(std::move(profiles),
               {.ledger = cluster.ledger, .search = work.search(), .loads = loads}),
      nominations(cluster.ledger, cluster.quotas),
      conflicts(cluster.ledger, options.evict_conflicts) {}

void EngineState::begin(base::Instant time) {
  out.clear();
  now = time;
  work.begin(planners.effort());
}

NodeIndex EngineState::release(PodIndex pod) {
  const NodeIndex node = cluster.ledger.pods().record(pod).node;
  planners.departed(pod);
  cluster.remove_pod(pod);
  cluster.ledger.release(pod);
  return node;
}

PreemptionPlanner EngineState::preemption_planner() {
  return PreemptionPlanner({.ledger = cluster.ledger,
                            .affinity = cluster.affinity,
                            .budgets = cluster.budgets,
                            .nominations = nominations,
                            .search = work.search(),
                            .evicts = options.preemption});
}

PreemptionPlanner EngineState::nomination_planner() {
  return PreemptionPlanner({.ledger = cluster.ledger,
                            .affinity = cluster.affinity,
                            .budgets = cluster.budgets,
                            .nominations = nominations,
                            .search = work.search(),
                            .evicts = false,
                            .waits = false});
}

}  // namespace stowage::core
