// The cards in the value of kGpusAnnotation, for those who carry the decision out on a node. They
// verify the signature first, so nothing is compared with what the pod asks for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stowage::dialect {

struct DecidedCard {
  std::string id;
  // Both 0: the container uses the cards of another one, which is charged for them.
  std::int32_t milli = 0;
  std::int32_t memory_mib = 0;
  friend bool operator==(const DecidedCard&, const DecidedCard&) = default;
};

struct DecidedCards {
  std::string node;
  std::map<std::string, std::vector<DecidedCard>> containers;  // by name; each has a card
  friend bool operator==(const DecidedCards&, const DecidedCards&) = default;
};

[[nodiscard]] Result<DecidedCards> parse_decided_cards(std::string_view text);

}  // namespace stowage::dialect
