// Cards of nodes that report only a number of cards. Their ids are "node/index".
#pragma once

#include <algorithm>
#include <string_view>

#include "core/model/node.h"

namespace stowage::core {

[[nodiscard]] inline bool counted_card(std::string_view node, std::string_view id) {
  if (id.size() < node.size() + 2 || !id.starts_with(node) || id[node.size()] != '/') return false;
  const std::string_view index = id.substr(node.size() + 1);
  return std::all_of(index.begin(), index.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// True if the node has cards and each of them has an id of its own.
[[nodiscard]] inline bool lists_cards(const NodeSpec& node) {
  return !node.cards.empty() &&
         std::none_of(node.cards.begin(), node.cards.end(),
                      [&](const Card& card) { return counted_card(node.name, card.id); });
}

}  // namespace stowage::core
