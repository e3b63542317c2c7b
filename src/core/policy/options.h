// Names and settings of the placement policies. Which node and which card are two choices, each
// with a policy of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stowage::core {

enum class NodePolicy : std::uint8_t {
  first,            // the first node by name (or rank) that holds the pod
  binpack,          // the fullest node by what the pod asks for
  spread,           // the emptiest node
  random,           // a feasible node, from the seed
  tightest,         // least free compute, then memory (gpu-admission)
  most_used,        // most cards in use (the toy scheduler)
  most_free,        // most free cards of the accepted models (nvidia-gpu-scheduler)
  elastic_binpack,  // rating of elastic-gpu-scheduler
  best_fit,         // least left of CPU and GPU (as published with FGD)
  dot_product,      // Tetris alignment (as published with FGD)
  gpu_packing,      // (as published with FGD)
  gpu_clustering,   // (as published with FGD)
  fgd,              // fragmentation gradient descent (USENIX ATC'23)
  dual_price,       // ours: see price/
};

enum class CardPolicy : std::uint8_t {
  first,  // lowest index
  binpack,
  spread,
  random,
  tightest,
  elastic_binpack,
  best_fit,  // smallest hole that fits
  fgd,
  dual_price,
  fragment,  // the smallest linked group that holds the request (gpu-manager)
};

struct PolicyChoice {
  NodePolicy node = NodePolicy::dual_price;
  CardPolicy card = CardPolicy::dual_price;
  friend bool operator==(const PolicyChoice&, const PolicyChoice&) = default;
};

// "fgd" is the node policy with the card policy that belongs to it; "fgd/spread" names both.
[[nodiscard]] Result<PolicyChoice> parse_policy(std::string_view text);
[[nodiscard]] std::string to_text(PolicyChoice choice);
[[nodiscard]] std::vector<std::string> policy_names();  // of node policies, in a fixed order
[[nodiscard]] std::vector<std::string> card_policy_names();

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
  // fgd: the target workload. Empty: learned from the pods that arrive.
  std::vector<TypicalPod> typical;
};

}  // namespace stowage::core
