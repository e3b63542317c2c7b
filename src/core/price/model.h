// Dual-price: the worth of a node, and from it the cost of a placement.
//
//   worth(node) = weight * min( sum of card values, CPU left / CPU that goes with a card )
//               + convex * sum of (free fraction of a card)^2
//               + blocks * weight * (free cards)^2 / 8
//
// A card is worth the most expensive shares that it can still hold (packing.h), but a card without
// enough CPU is worth nothing. The weight makes scarce models expensive, and also nodes that only
// some multi-card pods fit on. The convex term fills partly used cards before it opens new ones. It
// and the block term grow once pods leave, because only then do holes reappear. A pod goes where
// the lost worth is least, on a grid of 0.01 card. Among equals, a fixed order of nodes packs CPU
// and cards of all pods onto the same nodes. Once pods leave, the fullest node is preferred, so
// that the others can become empty.
//
// A model is immutable: rankings made with it stay valid until the learner publishes another.
#pragma once

#include <vector>

#include "core/policy/cost.h"
#include "core/price/packing.h"

namespace stowage::core {

// The terms that one card adds to its node's worth.
struct CardTerms {
  double value = 0;
  double square = 0;  // of the free fraction
};

struct PriceModel {
  std::uint64_t version = 0;
  CardValue value;                      // by compute
  std::vector<CardValue> memory_value;  // by memory class; used instead if it is two-dimensional
  double cards_per_cpu_milli = 0;       // 1 / (CPU per card); 0: CPU is not scarce
  double cards_per_memory_byte = 0;     // the same for the node's memory
  std::vector<double> weight;           // by node class; 1 if missing
  double convex = 0.2;
  double blocks = 0;
  bool fullest_first = false;  // among nodes of equal cost; otherwise only by rank

  // By free milli, from `value`: both terms adjacent in one cache line. Filled by prepare().
  std::vector<CardTerms> terms;
  void prepare();

  // True if equal in everything that a cost depends on.
  [[nodiscard]] bool same_prices(const PriceModel& other) const;
};

[[nodiscard]] std::uint64_t dual_price_cost(const Trial& trial);
[[nodiscard]] std::int64_t dual_price_card_cost(const CardTrial& trial, std::size_t card);

// Computes both costs for a pod with at most one GPU container, and reads each card only once.
// Nearly every decision uses this. Cards of equal cost are taken lowest index first. Requires: at
// least part.count fitting cards, or no part.
struct PricedPlacement {
  CardMask used = 0;
  std::uint64_t cost = 0;
};
[[nodiscard]] PricedPlacement dual_price_place(const JudgeContext& context, const Shape& shape,
                                               const NodeView& node, CardMask fitting);

}  // namespace stowage::core
