// A point in time that the caller passes to the engine: nanoseconds since an epoch that the caller
// chooses.
#pragma once

#include <compare>
#include <cstdint>

namespace stowage::base {

struct Instant {
  std::int64_t ns = 0;
  friend constexpr auto operator<=>(Instant, Instant) = default;
};

}  // namespace stowage::base
