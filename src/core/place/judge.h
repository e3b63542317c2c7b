// Judges one node for one shape of pod: whether it fits, why not, on which cards, and at what cost.
//
// Pure: reads the ledger and the policy's model, and changes only the remaining search steps. Equal
// arguments give equal verdicts, except that a verdict whose search was cut is ReasonCode::search.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ledger/ledger.h"
#include "core/model/reason.h"
#include "core/place/card_mask.h"
#include "core/place/shape.h"
#include "core/policy/options.h"

namespace stowage::core {

struct PriceModel;
struct FgdModel;

// Steps of the search for cards (containers.h) that one event of the engine has left, over all
// nodes and shapes. A search that runs out of steps is `cut`: its verdict is ReasonCode::search and
// not final.
struct SearchSteps {
  int left = 0;
  bool cut = false;  // the last search
};

// Input of a judgement besides the node and the shape.
struct JudgeContext {
  const Ledger* ledger = nullptr;
  const PolicyOptions* options = nullptr;
  const PriceModel* price = nullptr;  // set for dual-price
  const FgdModel* fgd = nullptr;      // set for fgd
  std::uint64_t draw = 0;             // random number of this decision, for `random`
  SearchSteps* search = nullptr;      // null: each search may take its maximum
};

// The ledger rows of the node under judgement.
struct NodeView {
  NodeIndex index;
  const NodeState* state = nullptr;
  const CardState* cards = nullptr;  // state->cards rows
};

// The cards of each part of the shape, as masks over the node's cards.
struct Placement {
  std::vector<CardMask> parts;
};

struct Verdict {
  Reason reason;           // code none: fits
  std::uint64_t cost = 0;  // lower is better; below kMaxCost
};
inline constexpr std::uint64_t kMaxCost = std::uint64_t{1} << 62U;

// Cost: O(cards) for simple shapes. `placement`, if given, receives the cards of a pod that fits.
[[nodiscard]] Verdict judge(const JudgeContext& context, const Shape& shape, NodeIndex node,
                            Placement* placement = nullptr);

// True if such a pod gets no cards by name on this node: see Naming.
[[nodiscard]] bool placed_by_number(const Ledger& ledger, const Shape& shape, NodeIndex node);

// Converts the placement to an assignment of the pod. Requires: made by judge() for a pod of this
// shape.
[[nodiscard]] Assignment to_assignment(const Ledger& ledger, const Shape& shape, NodeIndex node,
                                       const Placement& placement, std::size_t containers);

// The shape's request for the resource or card dimension of a reason.
[[nodiscard]] std::int64_t asked_of(const Shape& shape, ReasonCode code);

}  // namespace stowage::core
