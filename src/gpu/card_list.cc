#include "gpu/card_list.h"

#include <algorithm>
#include <map>

namespace stowage::gpu {
namespace {

constexpr std::int32_t kPositions = 100;  // per card; at most seven today

}  // namespace

std::int32_t instance_index(std::int32_t card_index, std::int32_t position) {
  return (card_index + 1) * kPositions + position;
}

CardList cards_of(const Inventory& inventory, const HealthTracker& health) {
  std::map<std::int32_t, std::size_t> places;  // position in the inventory, by index
  for (std::size_t i = 0; i < inventory.cards.size(); ++i) {
    const CardInfo& card = inventory.cards[i];
    // A duplicate index would make the whole list unreadable for others.
    places.try_emplace(card.mig ? instance_index(card.index, card.mig->position) : card.index, i);
  }
  CardList list;
  std::vector<std::size_t> taken;
  for (const auto& [index, place] : places) {
    if (taken.size() == core::kMaxCardsPerNode) break;
    const CardInfo& card = inventory.cards[place];
    taken.push_back(place);
    list.cards.push_back({.id = card.id,
                          .index = index,
                          .model = card.model,
                          .memory_mib = std::clamp(card.memory_mib, 0, core::kMaxCardMemoryMib),
                          .healthy = card.answers && health.healthy(card.id),
                          .numa = card.numa});
  }
  const std::size_t n = taken.size();
  list.left_out = inventory.cards.size() - n;
  const core::LinkMatrix& links = inventory.links;
  if (!links.known() || n < 2) return list;
  list.links = {.cards = static_cast<std::int32_t>(n), .score = std::vector<std::int32_t>(n * n)};
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      list.links.score[a * n + b] = links.between(taken[a], taken[b]);
    }
  }
  return list;
}

}  // namespace stowage::gpu
