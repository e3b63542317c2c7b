// How well the cards of a machine are connected, from NVML.
#pragma once

#include <vector>

#include "core/model/node.h"
#include "gpu/nvml_boards.h"

namespace stowage::gpu {

// By position among the units of all boards, in order. For each pair: the PCIe path, plus 100 for
// each NVLink between the two:
//
// - a link that ends at the other card counts for that pair;
// - a link that ends at a switch counts for every pair whose cards both have such links, as often
//   as the card with fewer of them has: through a switch a card can use all its links to any other;
// - no link counts between two cards that the driver does not let communicate over NVLink (e.g.
//   while the switches are not set up), nor for instances of divided cards, which cannot use it.
//
// Nothing is known about a card that does not answer. Instances of one card are on one board. Empty
// if there are fewer than two units, or if the driver reports nothing about any of them (virtual
// machines).
[[nodiscard]] core::LinkMatrix read_links(const nvml::Library& nvml,
                                          const std::vector<Board>& boards);

}  // namespace stowage::gpu
