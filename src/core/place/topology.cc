#include "core/place/topology.h"

#include <algorithm>
#include <array>

namespace stowage::core {
namespace {

std::int32_t numa_of(std::span<const std::int32_t> numa, std::size_t card) {
  return card < numa.size() ? numa[card] : kUnknownNuma;
}

// The candidates by rank: 0 is the most wanted. Masks below are sets of ranks, so that "earlier"
// means "more wanted".
struct RankedCards {
  std::vector<std::int32_t> score;   // size * size
  std::vector<std::int64_t> degree;  // sum of a card's links to all other candidates
  std::size_t size = 0;
  std::int32_t greatest = 0;  // no pair scores more

  RankedCards(const LinkMatrix& links, std::span<const std::uint8_t> candidates)
      : score(candidates.size() * candidates.size()),
        degree(candidates.size()),
        size(candidates.size()) {
    if (!links.known()) return;
    for (std::size_t a = 0; a < size; ++a) {
      for (std::size_t b = a + 1; b < size; ++b) {
        const std::int32_t pair = links.between(candidates[a], candidates[b]);
        score[a * size + b] = score[b * size + a] = pair;
        degree[a] += pair;
        degree[b] += pair;
        greatest = std::max(greatest, pair);
      }
    }
  }

  [[nodiscard]] std::int32_t between(std::size_t a, std::size_t b) const {
    return score[a * size + b];
  }
};

// By rank, the ranks that are linked with at least the tier's score. Empty: the tier does not
// require connected cards.
using Neighbours = std::vector<CardMask>;

Neighbours neighbours_at(const RankedCards& cards, std::int32_t threshold) {
  Neighbours result(cards.size);
  for (std::size_t a = 0; a < cards.size; ++a) {
    for (std::size_t b = 0; b < cards.size; ++b) {
      if (a != b && cards.between(a, b) >= threshold) result[a] |= card_bit(b);
    }
  }
  return result;
}

// The members of `pool` that can be reached from `start` inside `pool`.
CardMask reach(const Neighbours& neighbours, CardMask pool, std::size_t start) {
  CardMask seen = card_bit(start);
  CardMask frontier = seen;
  while (frontier != 0) {
    const std::size_t rank = lowest(frontier);
    frontier &= frontier - 1;
    const CardMask found = neighbours[rank] & pool & ~seen;
    seen |= found;
    frontier |= found;
  }
  return seen;
}

bool hangs_together(const Neighbours& neighbours, CardMask set) {
  return neighbours.empty() || reach(neighbours, set, lowest(set)) == set;
}

std::vector<CardMask> connected_groups(const Neighbours& neighbours) {
  std::vector<CardMask> groups;
  CardMask left = first_cards(neighbours.size());
  while (left != 0) {
    groups.push_back(reach(neighbours, left, lowest(left)));
    left &= ~groups.back();
  }
  return groups;
}

std::vector<CardMask> numa_groups(std::span<const std::int32_t> numa,
                                  std::span<const std::uint8_t> candidates) {
  std::vector<CardMask> groups;
  CardMask left = first_cards(candidates.size());
  while (left != 0) {
    const std::int32_t node = numa_of(numa, candidates[lowest(left)]);
    CardMask group = 0;
    for_each(left, [&](std::size_t rank) {
      if (numa_of(numa, candidates[rank]) == node) group |= card_bit(rank);
    });
    if (node != kUnknownNuma) groups.push_back(group);
    left &= ~group;
  }
  return groups;
}

// Sets of equal size from the same candidates compare by their own sum, then by the sum of the
// remaining cards. The latter is total - degree + sum, so among equal sums the smaller degree
// leaves more.
struct RankedSet {
  CardMask ranks = 0;  // 0: none found yet
  std::int64_t sum = 0;
  std::int64_t degree = 0;
};

bool better(const RankedSet& a, const RankedSet& b) {
  if (b.ranks == 0) return a.ranks != 0;
  if (a.sum != b.sum) return a.sum > b.sum;
  if (a.degree != b.degree) return a.degree < b.degree;
  return earlier_cards(a.ranks, b.ranks);
}

// Finds the exact best set of `count` members of `group`: branch and bound over the sets in
// ascending order, so that the first of equal sets is the earliest. Requires popcount(group) <=
// kExactCards.
class ExactSearch {
 public:
  ExactSearch(const RankedCards& cards, const Neighbours& neighbours, std::size_t count)
      : cards_(cards), neighbours_(neighbours), count_(count) {}

  RankedSet run(CardMask group) {
    best_ = {};
    least_degree_ = cards_.degree[lowest(group)];
    for_each(group, [&](std::size_t rank) {
      least_degree_ = std::min(least_degree_, cards_.degree[rank]);
    });
    extend(group, {});
    return best_;
  }

 private:
  // Adds every member of `pool` in turn to `set`, whose members all come before those of `pool`.
  void extend(CardMask pool, const RankedSet& set) {
    const std::size_t taken = popcount(set.ranks);
    if (taken == count_) {
      if (hangs_together(neighbours_, set.ranks)) best_ = set;
      return;
    }
    for (; popcount(pool) + taken >= count_; pool &= pool - 1) {
      const RankedSet next = with(set, lowest(pool));
      if (promises_better(next, taken + 1)) extend(pool & (pool - 1), next);
    }
  }

  [[nodiscard]] RankedSet with(RankedSet set, std::size_t rank) const {
    for_each(set.ranks, [&](std::size_t other) { set.sum += cards_.between(rank, other); });
    set.degree += cards_.degree[rank];
    set.ranks |= card_bit(rank);
    return set;
  }

  // False if no completion of `set` can beat the best one. At full size the bounds are exact. If
  // all pairs of a machine are equal, the first set decides.
  [[nodiscard]] bool promises_better(const RankedSet& set, std::size_t taken) const {
    if (best_.ranks == 0) return true;
    const auto missing = static_cast<std::int64_t>(count_ - taken);
    const auto size = static_cast<std::int64_t>(taken);
    const std::int64_t open_pairs = missing * size + missing * (missing - 1) / 2;
    const std::int64_t sum = set.sum + open_pairs * cards_.greatest;
    if (sum != best_.sum) return sum > best_.sum;
    return set.degree + missing * least_degree_ < best_.degree;
  }

  const RankedCards& cards_;
  const Neighbours& neighbours_;
  std::size_t count_;
  std::int64_t least_degree_ = 0;
  RankedSet best_;
};

// Grows a set from `start`: adds the card with the greatest sum of links to the set, then the one
// that leaves the most behind, then the earliest. In a tier of connected cards only neighbours of
// the set are considered; a connected group always has one.
RankedSet grow(const RankedCards& cards, const Neighbours& neighbours, CardMask group,
               std::size_t start, std::size_t count) {
  std::array<std::int64_t, kMaxCardsPerNode> gain{};
  CardMask reachable = neighbours.empty() ? group : 0;
  RankedSet set;
  for (std::size_t next = start;;) {
    set.ranks |= card_bit(next);
    set.sum += gain[next];
    set.degree += cards.degree[next];
    if (popcount(set.ranks) == count) return set;
    for_each(group, [&](std::size_t rank) { gain[rank] += cards.between(next, rank); });
    if (!neighbours.empty()) reachable |= neighbours[next] & group;
    const CardMask open = reachable & ~set.ranks;
    next = lowest(open);
    for_each(open, [&](std::size_t rank) {
      if (gain[rank] > gain[next] ||
          (gain[rank] == gain[next] && cards.degree[rank] < cards.degree[next])) {
        next = rank;
      }
    });
  }
}

RankedSet best_in_group(const RankedCards& cards, const Neighbours& neighbours, CardMask group,
                        std::size_t count) {
  if (popcount(group) <= kExactCards) return ExactSearch(cards, neighbours, count).run(group);
  RankedSet best;
  for_each(group, [&](std::size_t start) {
    const RankedSet grown = grow(cards, neighbours, group, start, count);
    if (better(grown, best)) best = grown;
  });
  return best;
}

CardMask best_in_tier(const RankedCards& cards, const Neighbours& neighbours,
                      const std::vector<CardMask>& groups, std::size_t count) {
  RankedSet best;
  for (const CardMask group : groups) {
    if (popcount(group) < count) continue;
    const RankedSet found = best_in_group(cards, neighbours, group, count);
    if (better(found, best)) best = found;
  }
  return best.ranks;
}

CardMask cards_of(CardMask ranks, std::span<const std::uint8_t> candidates) {
  CardMask cards = 0;
  for_each(ranks, [&](std::size_t rank) { cards |= card_bit(candidates[rank]); });
  return cards;
}

// The ranks of candidates that have an NVLink to any card of the node.
CardMask with_nvlink(const LinkMatrix& links, std::span<const std::uint8_t> candidates) {
  if (!links.known()) return 0;
  CardMask ranks = 0;
  for (std::size_t rank = 0; rank < candidates.size(); ++rank) {
    for (std::size_t other = 0; other < static_cast<std::size_t>(links.cards); ++other) {
      if (other == candidates[rank]) continue;
      if (links.between(candidates[rank], other) >= link::kNvlink) ranks |= card_bit(rank);
    }
  }
  return ranks;
}

struct NumaGroup {
  std::int32_t node = kUnknownNuma;
  std::vector<std::uint8_t> cards;  // in the candidates' order
};

// One group per known NUMA node, most wanted first. Groups of `preferred` may be empty.
std::vector<NumaGroup> wanted_numa_groups(std::span<const std::int32_t> numa,
                                          std::span<const std::uint8_t> candidates,
                                          std::span<const std::int32_t> preferred) {
  std::vector<NumaGroup> groups;
  for (const std::int32_t node : preferred) groups.push_back({.node = node, .cards = {}});
  for (const std::uint8_t card : candidates) {
    const std::int32_t node = numa_of(numa, card);
    if (node == kUnknownNuma) continue;
    auto group = std::ranges::find(groups, node, &NumaGroup::node);
    if (group == groups.end()) group = groups.insert(group, {.node = node, .cards = {}});
    group->cards.push_back(card);
  }
  return groups;
}

struct NumaUsage {
  std::int32_t node = kUnknownNuma;
  std::int64_t sum = 0;
  std::int64_t cards = 0;
};

}  // namespace

std::optional<CardChoice> choose_by_link(const LinkMatrix& links,
                                         std::span<const std::int32_t> numa,
                                         std::span<const std::uint8_t> candidates,
                                         std::size_t count, bool strict) {
  if (count > candidates.size()) return std::nullopt;
  if (count == 0) return CardChoice{};
  const RankedCards cards(links, candidates);
  const CardMask all = first_cards(candidates.size());
  const auto choice = [&](CardMask ranks, bool downgraded) {
    return CardChoice{.cards = cards_of(ranks, candidates), .downgraded = downgraded};
  };

  if (count == 1) {
    const CardMask accepted = strict ? with_nvlink(links, candidates) : all;
    if (accepted == 0) return std::nullopt;
    return choice(best_in_tier(cards, {}, {accepted}, count), false);
  }
  const Neighbours by_nvlink = neighbours_at(cards, link::kNvlink);
  CardMask ranks = best_in_tier(cards, by_nvlink, connected_groups(by_nvlink), count);
  if (ranks != 0) return choice(ranks, false);
  if (strict) return std::nullopt;
  const Neighbours by_switch = neighbours_at(cards, link::kSingleSwitch);
  ranks = best_in_tier(cards, by_switch, connected_groups(by_switch), count);
  if (ranks == 0) ranks = best_in_tier(cards, {}, numa_groups(numa, candidates), count);
  if (ranks == 0) ranks = best_in_tier(cards, {}, {all}, count);
  return choice(ranks, true);
}

std::optional<CardChoice> choose_by_numa(std::span<const std::int32_t> numa,
                                         std::span<const std::uint8_t> candidates,
                                         std::size_t count, bool strict,
                                         std::span<const std::int32_t> preferred) {
  if (count > candidates.size()) return std::nullopt;
  std::vector<NumaGroup> groups = wanted_numa_groups(numa, candidates, preferred);
  CardMask taken = 0;
  std::size_t missing = count;
  const auto take = [&](std::span<const std::uint8_t> from) {
    for (const std::uint8_t card : from) {
      if (missing == 0) return;
      if (has_card(taken, card)) continue;
      taken |= card_bit(card);
      --missing;
    }
  };

  std::size_t nodes_used = 0;
  for (; missing > 0 && !groups.empty(); ++nodes_used) {
    auto next = std::ranges::find_if(
        groups, [&](const NumaGroup& group) { return group.cards.size() >= missing; });
    if (next == groups.end()) {
      if (strict) return std::nullopt;
      next = std::ranges::max_element(groups, {},
                                      [](const NumaGroup& group) { return group.cards.size(); });
    }
    take(next->cards);
    groups.erase(next);
  }
  if (missing > 0 && strict) return std::nullopt;
  const bool in_one_node = missing == 0 && nodes_used <= 1;
  take(candidates);  // cards with an unknown NUMA node come last
  return CardChoice{.cards = taken, .downgraded = count > 1 && !in_one_node};
}

unsigned link_shortfall(const LinkMatrix& links, std::span<const std::int32_t> numa,
                        CardMask cards) {
  if (!links.known()) return 5;
  const auto joined_by = [&](std::int32_t least) {
    CardMask seen = card_bit(lowest(cards));
    CardMask frontier = seen;
    while (frontier != 0) {
      const std::size_t from = lowest(frontier);
      frontier &= frontier - 1;
      for_each(cards & ~seen, [&](std::size_t to) {
        if (links.between(from, to) < least) return;
        seen |= card_bit(to);
        frontier |= card_bit(to);
      });
    }
    return seen == cards;
  };
  if (joined_by(link::kNvlink)) return 0;
  if (joined_by(link::kSingleSwitch)) return 1;
  if (numa_shortfall(numa, cards) == 0) return 2;
  return joined_by(link::kNone + 1) ? 3 : 4;
}

unsigned numa_shortfall(std::span<const std::int32_t> numa, CardMask cards) {
  const std::int32_t node = numa_of(numa, lowest(cards));
  unsigned shortfall = 0;
  for_each(cards, [&](std::size_t card) {
    if (numa_of(numa, card) == kUnknownNuma) {
      shortfall = 2;
    } else if (numa_of(numa, card) != node) {
      shortfall = std::max(shortfall, 1U);
    }
  });
  return shortfall;
}

std::vector<std::int32_t> numa_order(std::span<const std::int32_t> numa,
                                     std::span<const std::int32_t> usage, CardMask cards,
                                     NumaPreference preference) {
  std::vector<NumaUsage> nodes;
  for_each(cards, [&](std::size_t card) {
    const std::int32_t node = numa_of(numa, card);
    if (node == kUnknownNuma) return;
    auto entry = std::ranges::find(nodes, node, &NumaUsage::node);
    if (entry == nodes.end()) entry = nodes.insert(entry, {.node = node});
    entry->sum += usage[card];
    ++entry->cards;
  });
  std::ranges::sort(nodes, [&](const NumaUsage& a, const NumaUsage& b) {
    // a.sum / a.cards against b.sum / b.cards, without division
    const std::int64_t mean_a = a.sum * b.cards;
    const std::int64_t mean_b = b.sum * a.cards;
    if (mean_a == mean_b) return a.node < b.node;
    return preference == NumaPreference::fullest ? mean_a > mean_b : mean_a < mean_b;
  });
  std::vector<std::int32_t> order(nodes.size());
  std::ranges::transform(nodes, order.begin(), &NumaUsage::node);
  return order;
}

}  // namespace stowage::core
