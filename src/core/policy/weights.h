// binpack and spread with weights from the pod's own request (vgpu-manager): a pod that asks mostly
// for memory is packed by memory.
#pragma once

#include "core/policy/cost.h"

namespace stowage::core {

// Relative weights of slots, memory and compute; their sum is 1.
struct ProfileWeights {
  double number = 0;
  double memory = 0;
  double compute = 0;
};
[[nodiscard]] ProfileWeights profile_weights(const Shape& shape);

// Scores in millionths, higher is better: how full the node is after the placement, and how free it
// is before.
[[nodiscard]] std::int64_t weighted_binpack(const Trial& trial);
[[nodiscard]] std::int64_t weighted_spread(const Trial& trial);

// Mean of the free fractions of a card (slots, memory, compute), in millionths.
[[nodiscard]] std::int64_t weighted_card(const CardTrial& trial, std::size_t card);

}  // namespace stowage::core
