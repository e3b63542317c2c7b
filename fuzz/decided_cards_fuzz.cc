// The cards of a decision, as agents read them.
#include "dialect/decided_cards.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  const auto read = dialect::parse_decided_cards(input);
  if (!good(read)) return;
  for (const auto& [name, cards] : read->containers) {
    STOWAGE_CHECK(!cards.empty());
    for (const dialect::DecidedCard& card : cards) STOWAGE_CHECK(!card.id.empty());
  }
}

}  // namespace stowage::fuzz
