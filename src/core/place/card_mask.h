// A set of cards of one node, one bit per position in NodeSpec::cards. A plain value. Every
// operation is O(1) except for_each, which visits the members in ascending order.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace stowage::core {

using CardMask = std::uint64_t;

// Requires card < kMaxCardsPerNode.
[[nodiscard]] constexpr CardMask card_bit(std::size_t card) { return CardMask{1} << card; }

[[nodiscard]] constexpr bool has_card(CardMask mask, std::size_t card) {
  return (mask & card_bit(card)) != 0;
}

[[nodiscard]] constexpr std::size_t popcount(CardMask mask) {
  return static_cast<std::size_t>(std::popcount(mask));
}

// The smallest position in the set. Requires mask != 0.
[[nodiscard]] constexpr std::size_t lowest(CardMask mask) {
  return static_cast<std::size_t>(std::countr_zero(mask));
}

// Positions 0 .. count-1. Requires count <= kMaxCardsPerNode.
[[nodiscard]] constexpr CardMask first_cards(std::size_t count) {
  return count == 0 ? 0 : ~CardMask{0} >> (64 - count);
}

// Calls visit(std::size_t card) for every member, lowest first.
template <class Visit>
constexpr void for_each(CardMask mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(lowest(mask));
}

// True if `a` comes before `b` when both are written as ascending lists. Requires different sets of
// equal size.
[[nodiscard]] constexpr bool earlier_cards(CardMask a, CardMask b) {
  const CardMask differ = a ^ b;
  return (differ & (~differ + 1) & a) != 0;
}

}  // namespace stowage::core
