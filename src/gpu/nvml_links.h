// How well the cards of a machine are connected, by what NVML says.
#pragma once

#include <vector>

#include "core/model/node.h"
#include "gpu/nvml_boards.h"

namespace stowage::gpu {

// By place among the units of all boards, in order. For each pair the way over PCIe, and 100 for
// each NVLink between the two:
//
// - a link that ends at the other card counts for that pair;
// - a link that ends at a switch counts for every pair of which both have such links, as often as
//   the one with fewer of them has: a switch lets any card use all its links towards any other;
// - none counts between two cards that the driver does not let talk over NVLink (as while the
//   switches are not set up), nor for instances of divided cards, which can not use it.
//
// Nothing is known about a card that does not answer. Instances of one card are on one board. Empty
// where there are fewer than two units, or where the driver says nothing about any of them (a guest
// of a hypervisor).
[[nodiscard]] core::LinkMatrix read_links(const nvml::Library& nvml,
                                          const std::vector<Board>& boards);

}  // namespace stowage::gpu
