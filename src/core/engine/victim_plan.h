// A preemption plan for one node: the pods to evict so that a pod fits there, and the cost. A plain
// value; nothing has been executed yet.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "core/model/ids.h"
#include "core/model/pod.h"

namespace stowage::core {

struct VictimPlan {
  NodeIndex node;
  std::vector<PodIndex> victims;  // to evict; nominations of other pods may be among them
  bool others_leave = false;      // the pod must also wait for pods that are already terminating
  Assignment cards;               // of the pod, once the victims are gone
  std::int32_t violations = 0;    // violated disruption budgets
  std::int32_t top = 0;           // highest priority among the victims
  std::int64_t sum = 0;           // of their priorities, each relative to the lowest possible one
  std::int64_t evictions = 0;     // victims that are pods
  std::int64_t newest = 0;        // start time of the oldest among the most important victims
  std::uint32_t rank = 0;         // rank of the node

  // Lower is better: fewest violated budgets, least important victims, fewest victims, then the
  // least lost work.
  [[nodiscard]] auto price() const {
    return std::tuple(violations, evictions == 0 ? 0 : 1, top, evictions, sum, -newest, rank);
  }
};

// Pods of a node that may be evicted.
struct PotentialVictims {
  std::vector<PodIndex> pods;     // those to keep longest first
  std::vector<PodIndex> leaving;  // already terminating
};

}  // namespace stowage::core
