// Which cards can hold a container, and the cards of pods with several GPU containers, card ids or
// topology wishes.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/place/judge.h"

namespace stowage::core {

// Cards that could hold one container of the pod alone. A share that wants the whole memory of its
// card is not checked for that.
[[nodiscard]] CardMask fitting_cards(const Ledger& ledger, const GpuPart& part,
                                     const NodeView& node);

struct PlacedContainers {
  std::vector<CardMask> parts;
  CardMask used = 0;
  std::array<CardState, kMaxCardsPerNode> after;  // only the node's cards are set
};

// Places every container, or none. Containers go one by one in the policy's order, each on the
// cards that the card policy likes best; if that gets stuck, a bounded search over all orders of
// cards follows, so that a pod is not refused for a poor first choice.
// Cost: O(parts * cards), and at most kSearchLimit steps of O(cards) when stuck. Where the context
// limits the steps, these count, and so do containers beyond the first eight.
inline constexpr int kSearchLimit = 4096;
[[nodiscard]] std::optional<PlacedContainers> place_containers(const JudgeContext& context,
                                                               const Shape& shape,
                                                               const NodeView& node);

// Requires: the cards of the node do not hold the pod. `only` speaks of the cards alone.
[[nodiscard]] Reason why_cards_do_not_fit(const JudgeContext& context, const Shape& shape,
                                          const NodeView& node);

}  // namespace stowage::core
