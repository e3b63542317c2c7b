#include "dialect/table.h"

#include <algorithm>
#include <array>

namespace stowage::dialect {

std::span<const Dialect> dialects() {
  // In the order in which counts of cards are trusted.
  static const std::array kDialects = {native(), nvidia(),  vcuda(),      vcuda_nvidia(),
                                       alnair(), elastic(), elastic_com()};
  return kDialects;
}

bool means_cards(std::string_view resource) {
  return std::any_of(dialects().begin(), dialects().end(), [&](const Dialect& dialect) {
    return std::find(dialect.resources.begin(), dialect.resources.end(), resource) !=
           dialect.resources.end();
  });
}

}  // namespace stowage::dialect
