// Names of the placement policies. The node and the card are chosen separately, each by a policy of
// its own.
#pragma once

#include <cstdint>
#include <optional>
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
  load,             // the least busy cards, as measured
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
  load,      // the least busy, as measured
};

struct PolicyChoice {
  NodePolicy node = NodePolicy::dual_price;
  CardPolicy card = CardPolicy::dual_price;
  friend bool operator==(const PolicyChoice&, const PolicyChoice&) = default;
};

// "fgd" is the node policy with its default card policy; "fgd/spread" names both.
[[nodiscard]] Result<PolicyChoice> parse_policy(std::string_view text);
[[nodiscard]] std::string to_text(PolicyChoice choice);
[[nodiscard]] std::vector<std::string> policy_names();  // of node policies, in a fixed order
[[nodiscard]] std::vector<std::string> card_policy_names();
// One half of a policy by name. Errors suggest the nearest known name.
[[nodiscard]] Result<NodePolicy> parse_node_policy(std::string_view text);
[[nodiscard]] Result<CardPolicy> parse_card_policy(std::string_view text);

// The policy that the pod itself asks for; the rest is its profile's.
struct PolicyWish {
  std::optional<NodePolicy> node;
  std::optional<CardPolicy> card;
  bool weighted = false;  // weight slots, memory and compute by the pod's request (vgpu-manager)

  [[nodiscard]] bool any() const { return node || card || weighted; }
  friend bool operator==(const PolicyWish&, const PolicyWish&) = default;
};

}  // namespace stowage::core
