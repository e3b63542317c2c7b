// Chooses the cards of one node for a container that wants them well connected (by links) or in one
// NUMA node.
//
// Pure: equal arguments give equal results, and every tie is broken by the order of the candidates.
// Cards are positions in NodeSpec::cards. Candidates are the usable cards in the order of the card
// policy, most wanted first: distinct, and below kMaxCardsPerNode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/model/node.h"
#include "core/place/card_mask.h"

namespace stowage::core {

// Up to this many cards a best subset is found exactly: at most C(16, 8) = 12870 sets are looked
// at. The usual machines have 8 or 16 cards.
inline constexpr std::size_t kExactCards = 16;

struct CardChoice {
  CardMask cards = 0;
  // Several cards were asked for, and they do not hang together by NVLink (choose_by_link) or are
  // not known to lie in one NUMA node (choose_by_numa). One card alone is never downgraded.
  bool downgraded = false;
  friend bool operator==(const CardChoice&, const CardChoice&) = default;
};

// The best connected `count` candidates, from the first of these tiers that can hold them:
//   1. the cards hang together by NVLinks among themselves;
//   2. they hang together by single PCIe switches or boards (or NVLinks);
//   3. they lie in one NUMA node;
//   4. any cards.
// Inside a tier the winner is decided by, in this order:
//   - the greatest sum of pair scores inside the set;
//   - the greatest sum of pair scores among the candidates that stay behind, so that a lone card is
//     taken before one of a linked pair;
//   - the earliest candidates.
// A single card has no pairs: all candidates compete for it in one tier.
//
// `strict` accepts tier 1 only. A single card is then accepted if it has an NVLink to any card of
// the node, used or not, which shows that the node has NVLinks where this card is.
//
// `numa` is by card; empty means unknown. Nothing is returned if there are too few candidates, or
// if `strict` can not be met.
// Cost: exact up to kExactCards in a group, C(group, count) sets at worst and usually far fewer.
// A greater group is grown greedily from each of its cards, always by the card with the greatest
// sum of links to those taken: O(group^2 * count), and not always the best set.
[[nodiscard]] std::optional<CardChoice> choose_by_link(const LinkMatrix& links,
                                                       std::span<const std::int32_t> numa,
                                                       std::span<const std::uint8_t> candidates,
                                                       std::size_t count, bool strict);

// The first `count` candidates of the most wanted NUMA node that holds as many. NUMA nodes are
// wanted in the order of `preferred` (see numa_order), then in the order in which the candidates
// first name them.
//
// Where no NUMA node holds them all, `strict` refuses; otherwise as few NUMA nodes as possible are
// used: the one with the most candidates first, until a node holds the rest. Cards of unknown NUMA
// node come last and never satisfy `strict`.
[[nodiscard]] std::optional<CardChoice> choose_by_numa(
    std::span<const std::int32_t> numa, std::span<const std::uint8_t> candidates, std::size_t count,
    bool strict, std::span<const std::int32_t> preferred = {});

// How far the cards that a container got fall short of its wish, for comparing nodes; 0 meets it.
//   links  1: joined by single PCIe switches or boards, 2: in one NUMA node, 3: joined by any
//          links, 4: not joined, 5: nothing is known about the node's links
//   NUMA   1: in several NUMA nodes, 2: of unknown NUMA node
// A single card falls short only where nothing is known. Requires cards != 0.
[[nodiscard]] unsigned link_shortfall(const LinkMatrix& links, std::span<const std::int32_t> numa,
                                      CardMask cards);
[[nodiscard]] unsigned numa_shortfall(std::span<const std::int32_t> numa, CardMask cards);

enum class NumaPreference : std::uint8_t { fullest, emptiest };

// The known NUMA nodes of `cards` by the mean usage of their cards; ties go to the lower number.
// `usage` is by card, in any unit that is the same for all of them (say 1/1000 of a card).
// Example: usage 2,4,3,4 in NUMA node 0 and 2,5,3,2 in 1: means 3.25 and 3, fullest gives 0, 1.
[[nodiscard]] std::vector<std::int32_t> numa_order(std::span<const std::int32_t> numa,
                                                   std::span<const std::int32_t> usage,
                                                   CardMask cards, NumaPreference preference);

}  // namespace stowage::core
