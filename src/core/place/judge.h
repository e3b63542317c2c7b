// Judges one node for one shape of pod: does it fit, why not, on which cards, and at what cost.
//
// Pure: reads the ledger and the policy's model, changes nothing but the steps that are left to
// searches. Equal arguments, equal verdicts; except that one whose search was cut is
// ReasonCode::search, whatever it would be otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ledger/ledger.h"
#include "core/model/reason.h"
#include "core/place/card_mask.h"
#include "core/place/shape.h"
#include "core/policy/options.h"

namespace stowage::core {

struct PriceModel;
struct FgdModel;

// Steps of the search for cards (containers.h) that are left to one event of the engine, over all
// nodes and shapes. A search that they end is `cut`: the verdict says so and is not final.
struct SearchSteps {
  int left = 0;
  bool cut = false;  // the last search
};

// What a judgement may look at besides the node and the shape.
struct JudgeContext {
  const Ledger* ledger = nullptr;
  const PolicyOptions* options = nullptr;
  const PriceModel* price = nullptr;  // set for dual-price
  const FgdModel* fgd = nullptr;      // set for fgd
  std::uint64_t draw = 0;             // of this decision, for `random`
  SearchSteps* search = nullptr;      // null: each search has all the steps that it may take
};

// One node under judgement: its rows in the ledger.
struct NodeView {
  NodeIndex index;
  const NodeState* state = nullptr;
  const CardState* cards = nullptr;  // state->cards of them
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

// The placement in the words of the pod. Requires: made by judge() for a pod of this shape.
[[nodiscard]] Assignment to_assignment(const Ledger& ledger, const Shape& shape, NodeIndex node,
                                       const Placement& placement, std::size_t containers);

// What the shape asks of the resource or card dimension that a reason speaks of.
[[nodiscard]] std::int64_t asked_of(const Shape& shape, ReasonCode code);

}  // namespace stowage::core
