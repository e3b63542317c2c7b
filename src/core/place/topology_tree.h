// Two more ways to choose whole cards by their links: from a tree of linked groups, either the
// smallest group that holds the request or the best connected one.
//
// Pure: equal arguments give equal results; ties go to the lower card positions. Both functions
// return nothing if too few cards are free, and the empty set for a count of 0. If links are
// unknown, all cards are equal.
//
// The tree of a machine: for each score threshold, all cards, used or not, are split into groups
// that are connected by links of at least that score. The thresholds are the scores that occur. The
// root holds all cards and the leaves are single cards:
//
//   all (cross CPU 10) +- {0,1,2,3} (host bridge 30) +- {0,1} (single switch 50)
//                      |                             +- {2,3} (single switch 50)
//                      +- {4,5} (single switch 50)
#pragma once

#include <cstddef>
#include <optional>

#include "core/model/node.h"
#include "core/place/card_mask.h"

namespace stowage::core {

// Keeps large linked groups whole. Walks down from the root, each time into the child with the
// fewest free cards that can hold the request. If no child can, the child with the most free cards
// is taken whole, and the rest is chosen from the others in the same way. In the machine above, 2
// cards are {4,5}: {0,1} is linked equally well, but belongs to a larger group.
[[nodiscard]] std::optional<CardMask> choose_fragment(const LinkMatrix& links, CardMask free,
                                                      std::size_t count);

// Chooses the group with the tightest links that can hold the request (then with the fewest free
// cards), and takes its best connected cards as choose_by_link does. In the machine above, 3 cards
// are {0,1,2}, and 2 cards are {0,1}.
[[nodiscard]] std::optional<CardMask> choose_linked_tree(const LinkMatrix& links, CardMask free,
                                                         std::size_t count);

}  // namespace stowage::core
