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

// Up to this many cards the best subset is found exactly: at most C(16, 8) = 12870 sets are tried.
// Typical machines have 8 or 16 cards.
inline constexpr std::size_t kExactCards = 16;

struct CardChoice {
  CardMask cards = 0;
  // Several cards were requested, and they are not connected by NVLink (choose_by_link) or not
  // known to be in one NUMA node (choose_by_numa). A single card is never downgraded.
  bool downgraded = false;
  friend bool operator==(const CardChoice&, const CardChoice&) = default;
};

// The best connected `count` candidates, from the first of these tiers that can hold them:
//   1. the cards are connected by NVLinks among themselves;
//   2. they are connected by single PCIe switches or boards (or NVLinks);
//   3. they are in one NUMA node;
//   4. any cards.
// Inside a tier the winner is decided by, in this order:
//   - the greatest sum of pair scores inside the set;
//   - the greatest sum of pair scores among the remaining candidates, so that a lone card is
//     taken before one of a linked pair;
//   - the earliest candidates.
// A single card has no pairs: all candidates compete for it in one tier.
//
// `strict` accepts tier 1 only. A single card is then accepted if it has an NVLink to any card of
// the node, used or not, because this shows that the node has NVLinks at this card.
//
// `numa` is by card; empty: unknown. Returns nothing if there are too few candidates, or if
// `strict` cannot be met.
// Cost: exact up to kExactCards in a group, C(group, count) sets at worst and usually far fewer.
// A larger group is grown greedily from each of its cards, always by the card with the greatest sum
// of links to the set: O(group^2 * count), and not always the best set.
[[nodiscard]] std::optional<CardChoice> choose_by_link(const LinkMatrix& links,
                                                       std::span<const std::int32_t> numa,
                                                       std::span<const std::uint8_t> candidates,
                                                       std::size_t count, bool strict);

// The first `count` candidates of the most wanted NUMA node that has that many. NUMA nodes are
// ordered by `preferred` (see numa_order), then by their first candidate.
//
// If no NUMA node has enough, `strict` refuses. Otherwise as few NUMA nodes as possible are used:
// those with the most candidates first, until one node has the rest. Cards with an unknown NUMA
// node come last and never satisfy `strict`.
[[nodiscard]] std::optional<CardChoice> choose_by_numa(
    std::span<const std::int32_t> numa, std::span<const std::uint8_t> candidates, std::size_t count,
    bool strict, std::span<const std::int32_t> preferred = {});

// How far the cards of a container are from its topology request, to compare nodes; 0: met.
//   links  1: connected by single PCIe switches or boards, 2: in one NUMA node, 3: connected
//          by any links, 4: not connected, 5: the node's links are unknown
//   NUMA   1: in several NUMA nodes, 2: of unknown NUMA node
// A single card falls short only if links or NUMA nodes are unknown. Requires cards != 0.
[[nodiscard]] unsigned link_shortfall(const LinkMatrix& links, std::span<const std::int32_t> numa,
                                      CardMask cards);
[[nodiscard]] unsigned numa_shortfall(std::span<const std::int32_t> numa, CardMask cards);

enum class NumaPreference : std::uint8_t { fullest, emptiest };

// The known NUMA nodes of `cards`, by the mean usage of their cards; ties go to the lower number.
// `usage` is by card, in any common unit (e.g. 1/1000 of a card).
// Example: usage 2,4,3,4 in NUMA node 0 and 2,5,3,2 in 1: means 3.25 and 3, fullest gives 0, 1.
[[nodiscard]] std::vector<std::int32_t> numa_order(std::span<const std::int32_t> numa,
                                                   std::span<const std::int32_t> usage,
                                                   CardMask cards, NumaPreference preference);

}  // namespace stowage::core
