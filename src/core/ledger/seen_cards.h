// What is said of a pod's cards, apart: cards that its node shows, and cards that it does not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/place/footprint.h"

namespace stowage::core {

using Orphans = std::vector<std::pair<std::string, CardCharge>>;

inline void sort_by_id(Orphans& orphans) {
  std::sort(orphans.begin(), orphans.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
}

// Charges by position, apart from those on cards that the node does not show.
struct Seen {
  std::vector<CardCharge> charges;
  Orphans orphans;
};
inline Seen seen_cards(std::vector<CardCharge> all, std::size_t cards,
                       std::span<const std::string> absent) {
  Seen seen;
  for (CardCharge charge : all) {
    if (charge.card < cards) {
      seen.charges.push_back(charge);
      continue;
    }
    const std::size_t behind = charge.card - cards;
    charge.card = 0;
    seen.orphans.emplace_back(behind < absent.size() ? absent[behind] : "", charge);
  }
  sort_by_id(seen.orphans);
  return seen;
}

}  // namespace stowage::core
