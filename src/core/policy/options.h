// Settings of the placement policies, beside their names (model/policy.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/policy.h"

namespace stowage::core {

// One kind of pod and its frequency; the list is what FGD calls the target workload.
struct TypicalPod {
  std::int64_t cpu_milli = 0;
  std::int32_t milli = 0;  // per card
  std::int32_t cards = 0;
  std::vector<std::string> models_any;
  double frequency = 0;  // sums to 1 over the list
};

struct PolicyOptions {
  PolicyChoice choice;
  std::uint64_t seed = 1;  // of `random`
  // If true, the policy may refuse a pod that fits, to keep blocks of cards for pods that need
  // several.
  bool hold_back = false;
  // dual-price: price GPU memory as a second dimension once pods ask for it.
  bool memory_duals = true;
  // binpack, spread: weight slots, memory and compute by the pod's request (vgpu-manager).
  bool profile_weights = false;
  // Most candidates that the outside picker is offered; 0: no picker.
  std::int32_t picker_candidates = 0;
  // fgd: the target workload. Empty: learned from arriving pods.
  std::vector<TypicalPod> typical;
};

}  // namespace stowage::core
