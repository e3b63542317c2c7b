// Draws the use of cards for a terminal: one line for each node, one cell for each card. Uses only
// objects of the API. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "local/json.h"

namespace stowage::local {

struct CardFill {
  std::string id;
  std::int64_t memory_mib = 0;
  std::int64_t used_milli = 0;
  std::int64_t used_mib = 0;
  std::int32_t pods = 0;

  // 0 to 100, by the scarcer of compute and memory. Not 0 if anything is used, 100 only if it is
  // full.
  [[nodiscard]] int percent() const;
  friend bool operator==(const CardFill&, const CardFill&) = default;
};

struct NodeFill {
  std::string name;
  std::string model;
  std::vector<CardFill> cards;
  std::int32_t pods = 0;  // all running pods, with or without cards
  bool ready = true;
  friend bool operator==(const NodeFill&, const NodeFill&) = default;
};

// Nodes by name. Cards come from the node's inventory, their use from the annotations of its pods;
// pods that have ended use nothing.
[[nodiscard]] std::vector<NodeFill> fill_cards(const std::vector<json::object>& nodes,
                                               const std::vector<json::object>& pods);

struct MapStyle {
  bool colour = false;
  bool unicode = false;
  std::size_t nodes_max = 48;  // the other nodes are counted in one line
};
[[nodiscard]] std::string render_card_map(const std::vector<NodeFill>& nodes,
                                          const MapStyle& style);

// "3.25" for 3250: cards in thousandths, without trailing zeros.
[[nodiscard]] std::string cards_text(std::int64_t milli);

}  // namespace stowage::local
