// Dual-price: what a node is worth, and so what a placement costs.
//
//   worth(node) = weight * min( sum of card values, CPU left / CPU that goes with a card )
//               + convex * sum of (free fraction of a card)^2
//               + blocks * weight * (free cards)^2 / 8
//
// A card is worth the dearest shares it still holds (packing.h), but a card without CPU to go with
// it is worth nothing. The weight makes scarce models, and nodes that only some multi-card pods fit
// on, dear. The convex term refills holes before it opens cards; it and the block term grow as pods
// begin to leave, because only then do holes come back. A pod goes where the worth lost is least,
// on a grid of 0.01 card. Among equals a fixed order of nodes packs CPU and cards of all pods onto
// the same nodes; once pods leave, the fullest node goes first, so that the others can run empty.
//
// A model is immutable: rankings made with it stay valid until the learner makes another.
#pragma once

#include <vector>

#include "core/policy/cost.h"
#include "core/price/packing.h"

namespace stowage::core {

// What one card adds to its node's worth.
struct CardTerms {
  double value = 0;
  double square = 0;  // of the free fraction
};

struct PriceModel {
  std::uint64_t version = 0;
  CardValue value;                      // by compute
  std::vector<CardValue> memory_value;  // by memory class; where two-dimensional, used instead
  double cards_per_cpu_milli = 0;       // 1 / (CPU that goes with a card); 0: CPU is not scarce
  double cards_per_memory_byte = 0;     // the same for the node's memory
  std::vector<double> weight;           // by node class; missing means 1
  double convex = 0.2;
  double blocks = 0;
  bool fullest_first = false;  // among nodes of equal cost; else by rank alone

  // By free milli, from `value`: both terms side by side, in one cache line. Filled by prepare().
  std::vector<CardTerms> terms;
  void prepare();

  // Equal in everything that a cost depends on.
  [[nodiscard]] bool same_prices(const PriceModel& other) const;
};

[[nodiscard]] std::uint64_t dual_price_cost(const Trial& trial);
[[nodiscard]] std::int64_t dual_price_card_cost(const CardTrial& trial, std::size_t card);

// Both at once for a pod with at most one GPU container, without looking at a card twice: nearly
// every decision. Cards of equal cost are taken lowest index first. Requires: at least part.count
// fitting cards, or no part at all.
struct PricedPlacement {
  CardMask used = 0;
  std::uint64_t cost = 0;
};
[[nodiscard]] PricedPlacement dual_price_place(const JudgeContext& context, const Shape& shape,
                                               const NodeView& node, CardMask fitting);

}  // namespace stowage::core
