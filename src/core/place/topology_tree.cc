#include "core/place/topology_tree.h"

#include <algorithm>
#include <cstdint>
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

// The tree, from the root to the single cards. Every level splits groups of the previous level, or
// keeps them.
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

// The group with the fewest free cards that still has `count`; 0 if none exists.
CardMask tightest_group(const Level& groups, CardMask free, std::size_t count) {
  CardMask best = 0;
  for (const CardMask group : groups) {
    const std::size_t size = popcount(group & free);
    if (size >= count && (best == 0 || size < popcount(best & free))) best = group;
  }
  return best;
}

// Takes `count` of the free cards of `group`, a union of groups of levels[depth]. Requires that it
// has that many.
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

}  // namespace stowage::core
