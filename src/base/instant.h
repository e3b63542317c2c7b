// A moment, handed into the engine from outside: nanoseconds since an epoch that the caller picks.
#pragma once

#include <compare>
#include <cstdint>

namespace stowage::base {

struct Instant {
  std::int64_t ns = 0;
  friend constexpr auto operator<=>(Instant, Instant) = default;
};

}  // namespace stowage::base
