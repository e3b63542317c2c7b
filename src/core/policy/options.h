// Settings of the placement policies, beside their names (model/policy.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/policy.h"

namespace stowage::core {

// One kind of pod and how often it comes: what FGD calls the target workload.
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
  // May the policy refuse a pod that would fit, to keep blocks of cards for pods that need several?
  bool hold_back = false;
  // dual-price: value GPU memory as a second dimension once pods ask for it.
  bool memory_duals = true;
  // binpack, spread: weigh places, memory and compute by what the pod asks (vgpu-manager).
  bool profile_weights = false;
  // How many candidates the outside picker is asked about; 0: there is none.
  std::int32_t picker_candidates = 0;
  // fgd: the target workload. Empty: learned from the pods that arrive.
  std::vector<TypicalPod> typical;
};

}  // namespace stowage::core
