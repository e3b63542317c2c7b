// Three more ways to choose whole cards by their links: from a tree of linked groups, either the
// smallest group that holds the request or the best connected one; and by splitting all available
// cards into sets of the requested size.
//
// Pure: equal arguments give equal results; ties go to the lower card positions. All three return
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

// Splits `available` into sets of `count` cards, one of them short where the number is not a
// multiple, with the greatest total of pair scores inside the sets; of equal splits the first
// counts when sets are formed from the lowest card upwards. The answer is the best full set of that
// split. So later requests of the same size fare well: with pairs 0-2 130, 4-5 150, 0-4 210 and 2-5
// 10 two cards are {4,5}, not {0,4}. With `required` only splits count that have these cards in one
// full set, which is the answer. Nothing is returned if `required` is not part of `available` or
// has more than `count` cards. Cost: exact up to kExactCards available cards (a few million steps
// for 16 cards in sets of 6, a few hundred for 8). With more, only the set itself counts: grown
// from `required`, or from each card where that is empty, by the card with the greatest sum of
// links.
[[nodiscard]] std::optional<CardMask> best_effort_set(const LinkMatrix& links, CardMask available,
                                                      CardMask required, std::size_t count);

}  // namespace stowage::core
