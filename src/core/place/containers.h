// Finds the cards that can hold a container, and places pods with several GPU containers, card ids
// or topology requests.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/place/judge.h"

namespace stowage::core {

// Cards that could hold one container of the pod alone. If a share wants the whole memory of its
// card, that is not checked.
[[nodiscard]] CardMask fitting_cards(const Ledger& ledger, const GpuPart& part,
                                     const NodeView& node);

struct PlacedContainers {
  std::vector<CardMask> parts;
  CardMask used = 0;
  std::array<CardState, kMaxCardsPerNode> after;  // only the node's cards are set
};

// Places all containers or none. Greedy first: containers are placed one by one in the policy's
// order, each on the best cards of the card policy. If that fails, a bounded search over all
// choices of cards follows, so that a pod is not refused because of a poor first choice.
// Cost: O(parts * cards), plus at most kSearchLimit steps of O(cards) if greedy fails. If the
// context limits the steps, these steps count, and so do containers beyond the first eight.
inline constexpr int kSearchLimit = 4096;
[[nodiscard]] std::optional<PlacedContainers> place_containers(const JudgeContext& context,
                                                               const Shape& shape,
                                                               const NodeView& node);

// Requires: the cards of the node do not hold the pod. `only` considers only the cards.
[[nodiscard]] Reason why_cards_do_not_fit(const JudgeContext& context, const Shape& shape,
                                          const NodeView& node);

}  // namespace stowage::core
