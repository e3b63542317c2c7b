// Costs of placements: of nodes and of cards, lower is better. Plain functions listed in two
// switches; a new policy needs one function, its name and one line there.
#pragma once

#include "core/place/judge.h"

namespace stowage::core {

// A placement under judgement: the node before it, and its cards and CPU after it.
struct Trial {
  const JudgeContext* context = nullptr;
  const Shape* shape = nullptr;
  NodeView node;
  const CardState* after = nullptr;  // cards after the placement
  CardMask used = 0;                 // cards the pod would be on
  const CardMask* parts = nullptr;   // the same by part of the shape
};

// Cost of this placement; below kMaxCost.
[[nodiscard]] std::uint64_t node_cost(const Trial& trial);

// Cost of taking `card` of the node for one container; cards are taken in ascending order of
// (cost, tie). `cards` are the states to judge by (earlier containers of the pod subtracted).
struct CardTrial {
  const JudgeContext* context = nullptr;
  const Shape* shape = nullptr;
  const GpuPart* part = nullptr;
  NodeView node;
  const CardState* cards = nullptr;
};
[[nodiscard]] std::int64_t card_cost(const CardTrial& trial, std::size_t card);
// True if among cards of equal cost the highest index goes first.
[[nodiscard]] bool last_card_first(const PolicyOptions& options);

}  // namespace stowage::core
