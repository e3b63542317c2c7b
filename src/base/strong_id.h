// An index type that cannot be confused with other index types.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace stowage::base {

template <typename Tag>
struct StrongId {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t value = kNone;

  constexpr StrongId() = default;
  constexpr explicit StrongId(std::uint32_t v) : value(v) {}
  constexpr explicit StrongId(std::size_t v) : value(static_cast<std::uint32_t>(v)) {}

  [[nodiscard]] constexpr bool valid() const { return value != kNone; }
  [[nodiscard]] constexpr std::size_t at() const { return value; }
  friend constexpr auto operator<=>(StrongId, StrongId) = default;
};

}  // namespace stowage::base
