// A plan of preemption on one node: which pods have to go so that a pod fits there, and at what
// price. A value: nothing has happened yet.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "core/model/ids.h"
#include "core/model/pod.h"

namespace stowage::core {

struct VictimPlan {
  NodeIndex node;
  std::vector<PodIndex>
      victims;                  // that have to be told to go; nominations of other pods among them
  bool others_leave = false;    // pods that go anyway have to be waited for
  Assignment cards;             // of the pod, once they are gone
  std::int32_t violations = 0;  // of disruption budgets
  std::int32_t top = 0;         // the highest priority among the victims
  std::int64_t sum = 0;         // of their priorities, each above the least possible one
  std::int64_t evictions = 0;   // victims that are pods
  std::int64_t newest = 0;      // when the oldest of the most important victims was started
  std::uint32_t rank = 0;       // of the node

  // Lower is better: fewest budgets broken, least important victims, fewest of them, and among
  // those of equal importance the ones that lose the least work.
  [[nodiscard]] auto price() const {
    return std::tuple(violations, evictions == 0 ? 0 : 1, top, evictions, sum, -newest, rank);
  }
};

// Pods of a node that may have to give way.
struct PotentialVictims {
  std::vector<PodIndex> pods;     // those that had better stay come first
  std::vector<PodIndex> leaving;  // that go anyway
};

}  // namespace stowage::core
