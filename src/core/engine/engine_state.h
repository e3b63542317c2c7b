// The engine's parts: the cluster, the waiting pods, and the output of the current event. Each part
// owns its state. The steps of the engine (pod_placer.h, requeuer.h, external_pods.h) work on all
// of them.
#pragma once

#include <string>
#include <unordered_map>  // lookup only
#include <vector>

#include "base/instant.h"
#include "core/engine/cluster_state.h"
#include "core/engine/conflicts.h"
#include "core/engine/deferred_steps.h"
#include "core/engine/engine.h"
#include "core/engine/holds.h"
#include "core/engine/load_tracker.h"
#include "core/engine/nominations.h"
#include "core/engine/pending_binds.h"
#include "core/engine/planner_table.h"
#include "core/engine/preemption_planner.h"
#include "core/engine/waiting.h"

namespace stowage::core {

struct EngineState {
  EngineState(std::vector<PolicyOptions> profiles, const EngineOptions& given);
  EngineState(const EngineState&) = delete;
  EngineState& operator=(const EngineState&) = delete;

  const EngineOptions options;
  ClusterState cluster;
  LoadTracker loads;
  WorkBudget work;
  PlannerTable planners;
  Waiting waiting;
  PendingBinds binds;
  Nominations nominations;
  Holds holds;
  CardConflicts conflicts;
  // When a waiting pod was first refused; reset when its nomination expires.
  std::unordered_map<std::string, base::Instant> refused_at;  // lookup only
  Engine::Counters counters;
  // Of the current event.
  base::Instant now;
  Commands out;

  // Starts an event or a request.
  void begin(base::Instant time);
  // Releases all that the pod holds. Returns its node.
  NodeIndex release(PodIndex pod);
  // For one decision.
  [[nodiscard]] PreemptionPlanner preemption_planner();
  // Plans that evict no pod: they take nominations of less important pods if the pod fits at once.
  [[nodiscard]] PreemptionPlanner nomination_planner();
};

}  // namespace stowage::core
