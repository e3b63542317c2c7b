// The cards of a node as the engine wants them, from what a source and a keeper of health say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/model/node.h"
#include "gpu/health.h"
#include "gpu/source.h"

namespace stowage::gpu {

struct CardList {
  std::vector<core::Card> cards;  // by index
  core::LinkMatrix links;         // by place in `cards`
  std::size_t left_out = 0;       // more than the engine takes
};

// At most core::kMaxCardsPerNode of them. The indices are different and stay what they are for as
// long as the driver counts the same cards: that of a card is the driver's, that of an instance is
// made from its card's and its position (instance_index()).
[[nodiscard]] CardList cards_of(const Inventory& inventory, const HealthKeeper& health);

// 302: position 2 on the card with the index 2. Below 100 are the cards themselves.
[[nodiscard]] std::int32_t instance_index(std::int32_t card_index, std::int32_t position);

}  // namespace stowage::gpu
