// parse_fake_cards: plausible cards with unique ids, or an error with the file's name.
#include <set>
#include <string>

#include "fuzz/fuzz.h"
#include "gpu/card_list.h"
#include "gpu/fake_file.h"
#include "gpu/health.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  const auto cards = gpu::parse_fake_cards(input, "f.yaml", "node");
  STOWAGE_CHECK(same(cards, gpu::parse_fake_cards(input, "f.yaml", "node")));
  if (!good(cards)) {
    STOWAGE_CHECK(cards.error().message.starts_with("f.yaml"));
    return;
  }
  const gpu::Inventory& inventory = cards->inventory;
  std::set<std::string> ids;
  std::size_t answering = 0;
  for (const auto& card : inventory.cards) {
    STOWAGE_CHECK(!card.id.empty() && ids.insert(card.id).second);
    STOWAGE_CHECK(card.memory_mib >= 0 && card.memory_mib <= core::kMaxCardMemoryMib);
    if (card.answers) ++answering;
  }
  STOWAGE_CHECK(cards->samples.size() == answering);
  for (const auto& sample : cards->samples) {
    STOWAGE_CHECK(ids.contains(sample.id));
    const auto busy = sample.utilisation_permille.value_or(0);
    STOWAGE_CHECK(busy >= 0 && busy <= 1000);
  }
  const std::size_t n = inventory.cards.size();
  STOWAGE_CHECK(!inventory.links.known() || inventory.links.score.size() == n * n);

  gpu::HealthTracker health{gpu::HealthOptions{}};
  health.observe(inventory, {});
  health.observe(cards->samples, {});
  for (const auto& fault : cards->faults) {
    STOWAGE_CHECK(ids.contains(fault.card));
    health.observe(fault, {});
  }
  const auto list = gpu::cards_of(inventory, health);
  STOWAGE_CHECK(list.cards.size() <= core::kMaxCardsPerNode);
  STOWAGE_CHECK(list.cards.size() + list.left_out == n);
}

}  // namespace stowage::fuzz
