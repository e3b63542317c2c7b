// The engine's parts: what is known, who waits for what, and what this event has said so far. Each
// part owns its state; the steps of the engine (pod_placer.h, requeuer.h, external_pods.h) work on
// them together.
#pragma once

#include <string>
#include <unordered_map>  // lookup only
#include <vector>

#include "base/instant.h"
#include "core/engine/agenda.h"
#include "core/engine/cluster_state.h"
#include "core/engine/conflicts.h"
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
  // When a pod that waits was refused first; later, if its nomination has run out since.
  std::unordered_map<std::string, base::Instant> refused_at;  // lookup only
  Engine::Counters counters;
  // Of this event.
  base::Instant now;
  Commands out;

  // Starts an event or a question.
  void begin(base::Instant time);
  // Gives back what a pod holds. The node that it was on.
  NodeIndex release(PodIndex pod);
  // For one decision.
  [[nodiscard]] PreemptionPlanner preemption_planner();
};

}  // namespace stowage::core
