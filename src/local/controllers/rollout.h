// The arithmetic of a rolling update. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "local/store.h"

namespace stowage::local {

// A ReplicaSet of a Deployment, in numbers.
struct RolloutSet {
  ObjectName name;
  std::int64_t wanted = 0;     // spec.replicas
  std::int64_t replicas = 0;   // status
  std::int64_t ready = 0;      // status
  std::int64_t available = 0;  // status
  std::int64_t revision = 0;
  friend bool operator==(const RolloutSet&, const RolloutSet&) = default;
};

struct RolloutWish {
  std::int64_t replicas = 0;
  std::int64_t max_surge = 0;
  std::int64_t max_unavailable = 0;
  bool recreate = false;  // delete the old pods before new ones are created
  bool paused = false;
};

// How many replicas each set should have next; `old` is sorted by age, the oldest first. Pure: the
// step of a rolling update that the numbers allow now.
struct RolloutStep {
  std::int64_t fresh = 0;
  std::vector<std::int64_t> old;
  friend bool operator==(const RolloutStep&, const RolloutStep&) = default;
};
[[nodiscard]] RolloutStep next_step(const RolloutWish& wish, const RolloutSet& fresh,
                                    const std::vector<RolloutSet>& old);

}  // namespace stowage::local
