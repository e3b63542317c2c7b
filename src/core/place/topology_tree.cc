#include "core/place/topology_tree.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/place/topology.h"

namespace stowage::core {
namespace {

// The groups of one threshold.
using Level = std::vector<CardMask>;

CardMask group_around(const LinkMatrix& links, CardMask cards, std::size_t start,
                      std::int32_t threshold) {
  CardMask group = card_bit(start);
  for (CardMask frontier = group; frontier != 0;) {
    const std::size_t card = lowest(frontier);
    frontier &= frontier - 1;
    for_each(cards & ~group, [&](std::size_t other) {
      if (links.between(card, other) < threshold) return;
      group |= card_bit(other);
      frontier |= card_bit(other);
    });
  }
  return group;
}

Level groups_at(const LinkMatrix& links, CardMask cards, std::int32_t threshold) {
  Level groups;
  while (cards != 0) {
    groups.push_back(group_around(links, cards, lowest(cards), threshold));
    cards &= ~groups.back();
  }
  return groups;
}

// The tree, from the root to the single cards. Every level splits groups of the one before, or
// leaves them as they are.
std::vector<Level> tree_of(const LinkMatrix& links, CardMask free) {
  const CardMask cards = links.known() ? first_cards(static_cast<std::size_t>(links.cards)) : free;
  std::vector<Level> levels;
  levels.push_back({cards});
  if (links.known()) {
    std::vector<std::int32_t> thresholds = links.score;
    std::erase_if(thresholds, [](std::int32_t score) { return score <= link::kNone; });
    std::ranges::sort(thresholds);
    const auto repeated = std::ranges::unique(thresholds);
    thresholds.erase(repeated.begin(), repeated.end());
    for (const std::int32_t threshold : thresholds) {
      levels.push_back(groups_at(links, cards, threshold));
    }
  }
  Level leaves;
  for_each(cards, [&](std::size_t card) { leaves.push_back(card_bit(card)); });
  levels.push_back(std::move(leaves));
  return levels;
}

// The group with the fewest free cards that still has `count`; 0 if there is none.
CardMask tightest_group(const Level& groups, CardMask free, std::size_t count) {
  CardMask best = 0;
  for (const CardMask group : groups) {
    const std::size_t size = popcount(group & free);
    if (size >= count && (best == 0 || size < popcount(best & free))) best = group;
  }
  return best;
}

// Takes `count` of the free cards of `group`, which is a union of groups of levels[depth].
// Requires that it has so many.
CardMask take_fragment(std::span<const Level> levels, std::size_t depth, CardMask group,
                       std::size_t count) {
  CardMask taken = 0;
  while (popcount(group) > count) {
    Level children;
    for (const CardMask child : levels[depth + 1]) {
      if ((child & group) != 0) children.push_back(child & group);
    }
    const CardMask holder = tightest_group(children, group, count);
    if (holder != 0) {
      group = holder;
      ++depth;
      continue;
    }
    const CardMask greatest = *std::ranges::max_element(children, {}, popcount);
    taken |= greatest;
    group &= ~greatest;
    count -= popcount(greatest);
  }
  return taken | group;
}

// Calls visit(CardMask) for every subset of `pool` with `size` members, in ascending order.
template <class Visit>
void for_each_subset(CardMask pool, std::size_t size, const Visit& visit, CardMask chosen = 0) {
  if (size == 0) {
    visit(chosen);
    return;
  }
  for (; popcount(pool) >= size; pool &= pool - 1) {
    for_each_subset(pool & (pool - 1), size - 1, visit, chosen | card_bit(lowest(pool)));
  }
}

// Best splits, by set of cards; each is worked out once. Cards are numbered within the available
// ones, so that tables have 2^size entries.
class BestSplits {
 public:
  // `must` are cards that have to be together in a full set.
  BestSplits(const LinkMatrix& links, const std::vector<std::size_t>& cards, CardMask must,
             std::size_t count)
      : must_(must),
        count_(count),
        short_size_(cards.size() % count),
        score_(std::size_t{1} << cards.size()),
        split_(score_.size()) {
    for (CardMask set = 1; set < score_.size(); ++set) {
      const CardMask rest = set & (set - 1);
      std::int64_t sum = score_[rest];
      for_each(rest, [&](std::size_t other) {
        sum += link_score(links, cards[lowest(set)], cards[other]);
      });
      score_[set] = sum;
    }
    split_[0].known = true;
    split_[0].total = 0;
  }

  // The best full set of the first best split of all cards.
  [[nodiscard]] CardMask answer() {
    CardMask best = 0;
    for (CardMask cards = score_.size() - 1; cards != 0; cards &= ~split_[cards].first_set) {
      best_total(cards);
      const CardMask set = split_[cards].first_set;
      if (popcount(set) != count_ || (set & must_) != must_) continue;
      if (best == 0 || score_[set] > score_[best]) best = set;
    }
    return best;
  }

 private:
  // So low that no sum of scores brings it back to what is possible.
  static constexpr std::int64_t kImpossible = std::numeric_limits<std::int64_t>::min() / 2;

  struct Split {
    std::int64_t total = kImpossible;
    std::uint32_t first_set = 0;  // the one with the lowest card
    bool known = false;
  };

  // Requires that full sets and at most one short set can make up `cards`: whether the short set is
  // still to come shows in their number. Full sets are tried before the short one, and each kind in
  // ascending order; the first of equal splits stays.
  std::int64_t best_total(CardMask cards) {
    if (split_[cards].known) return split_[cards].total;
    const std::size_t size = popcount(cards);
    const CardMask first = card_bit(lowest(cards));
    Split best{.known = true};
    const auto try_sets_of = [&](std::size_t set_size) {
      for_each_subset(cards & ~first, set_size - 1, [&](CardMask others) {
        const CardMask set = first | others;
        if (!allowed(set)) return;
        const std::int64_t total = score_[set] + best_total(cards & ~set);
        if (total <= best.total) return;
        best.total = total;
        best.first_set = static_cast<std::uint32_t>(set);
      });
    };
    if (size >= count_) try_sets_of(count_);
    if (short_size_ != 0 && size % count_ == short_size_) try_sets_of(short_size_);
    split_[cards] = best;
    return best.total;
  }

  [[nodiscard]] bool allowed(CardMask set) const {
    const CardMask needed = set & must_;
    return needed == 0 || (needed == must_ && popcount(set) == count_);
  }

  CardMask must_;
  std::size_t count_;
  std::size_t short_size_;  // 0: all sets are full
  std::vector<std::int64_t> score_;
  std::vector<Split> split_;
};

CardMask exact_set_of_split(const LinkMatrix& links, CardMask available, CardMask required,
                            std::size_t count) {
  std::vector<std::size_t> cards;
  CardMask must = 0;
  for_each(available, [&](std::size_t card) {
    if (has_card(required, card)) must |= card_bit(cards.size());
    cards.push_back(card);
  });
  CardMask result = 0;
  for_each(BestSplits(links, cards, must, count).answer(),
           [&](std::size_t position) { result |= card_bit(cards[position]); });
  return result;
}

std::int64_t links_to(const LinkMatrix& links, std::size_t card, CardMask set) {
  std::int64_t sum = 0;
  for_each(set, [&](std::size_t other) { sum += link_score(links, card, other); });
  return sum;
}

CardMask grown_set(const LinkMatrix& links, CardMask available, CardMask required,
                   std::size_t count) {
  CardMask best = 0;
  std::int64_t best_sum = 0;
  for_each(required != 0 ? card_bit(lowest(required)) : available, [&](std::size_t start) {
    CardMask set = required | card_bit(start);
    while (popcount(set) < count) {
      std::size_t next = lowest(available & ~set);
      for_each(available & ~set, [&](std::size_t card) {
        if (links_to(links, card, set) > links_to(links, next, set)) next = card;
      });
      set |= card_bit(next);
    }
    std::int64_t sum = 0;
    for_each(set, [&](std::size_t card) { sum += links_to(links, card, set & ~card_bit(card)); });
    if (best == 0 || sum > best_sum) {
      best = set;
      best_sum = sum;
    }
  });
  return best;
}

}  // namespace

std::optional<CardMask> choose_fragment(const LinkMatrix& links, CardMask free, std::size_t count) {
  if (count > popcount(free)) return std::nullopt;
  if (count == 0) return CardMask{0};
  return take_fragment(tree_of(links, free), 0, free, count);
}

std::optional<CardMask> choose_linked_tree(const LinkMatrix& links, CardMask free,
                                           std::size_t count) {
  if (count > popcount(free)) return std::nullopt;
  if (count == 0) return CardMask{0};
  const std::vector<Level> levels = tree_of(links, free);
  CardMask group = 0;
  for (std::size_t depth = levels.size(); group == 0; --depth) {
    group = tightest_group(levels[depth - 1], free, count);
  }
  std::vector<std::uint8_t> candidates;
  for_each(group & free,
           [&](std::size_t card) { candidates.push_back(static_cast<std::uint8_t>(card)); });
  return choose_by_link(links, {}, candidates, count, /*strict=*/false)->cards;
}

std::optional<CardMask> best_effort_set(const LinkMatrix& links, CardMask available,
                                        CardMask required, std::size_t count) {
  if ((required & ~available) != 0 || popcount(required) > count) return std::nullopt;
  if (count > popcount(available)) return std::nullopt;
  if (count == 0) return CardMask{0};
  return popcount(available) <= kExactCards ? exact_set_of_split(links, available, required, count)
                                            : grown_set(links, available, required, count);
}

}  // namespace stowage::core
