// Two more ways to choose whole cards by their links: from a tree of linked groups, either the
// smallest group that holds the request or the best connected one.
//
// Pure: equal arguments give equal results; ties go to the lower card positions. Both return
// nothing if too few cards are free, and the empty set for a count of 0. Where links are unknown
// all cards are equal.
//
// The tree of a machine: at a score threshold the cards, used or not, fall into groups that hang
// together by links of at least that score. The thresholds are the scores that occur. The root
// holds all cards and the leaves are single cards:
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

// Keeps big linked groups whole: walks down from the root, each time into the child with the fewest
// free cards that still holds the request. Where no child does, the child with the most free cards
// is taken whole and the rest is sought among the others in the same way. In the machine above 2
// cards are {4,5}, although {0,1} is as well linked: it belongs to a bigger group.
[[nodiscard]] std::optional<CardMask> choose_fragment(const LinkMatrix& links, CardMask free,
                                                      std::size_t count);

// From the group with the tightest links that holds the request (then the one with the fewest free
// cards) the best connected cards, as choose_by_link finds them. In the machine above 3 cards are
// {0,1,2}, and 2 cards are {0,1}.
[[nodiscard]] std::optional<CardMask> choose_linked_tree(const LinkMatrix& links, CardMask free,
                                                         std::size_t count);

}  // namespace stowage::core
