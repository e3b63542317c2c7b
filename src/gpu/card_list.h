// The cards of a node for the engine, from the inventory of a source and the health tracker.
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
  core::LinkMatrix links;         // by position in `cards`
  std::size_t left_out = 0;       // more than the engine accepts
};

// At most core::kMaxCardsPerNode. Indices are unique and stay the same as long as the driver counts
// the same cards. The index of a card is the driver's; that of an instance is made from its card's
// index and its position (instance_index()).
[[nodiscard]] CardList cards_of(const Inventory& inventory, const HealthTracker& health);

// 302: position 2 on the card with index 2. Numbers below 100 are the cards themselves.
[[nodiscard]] std::int32_t instance_index(std::int32_t card_index, std::int32_t position);

}  // namespace stowage::gpu
