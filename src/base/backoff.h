// Pauses that double from `min` to `max`, or stay at `min` if that is more. A plain value of two
// numbers and a position: no clock and no randomness. Who wants jitter gives what next() returns
// to with_jitter(), with a number of its own.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

namespace stowage::base {

class Backoff {
 public:
  using Duration = std::chrono::nanoseconds;

  constexpr Backoff(Duration min, Duration max) : min_(min), max_(std::max(min, max)), next_(min) {}

  // The pause to take now. The one after it is twice as long.
  constexpr Duration next() {
    const Duration pause = next_;
    next_ = std::min(max_, next_ * 2);
    return pause;
  }
  // What next() would return.
  [[nodiscard]] constexpr Duration peek() const { return next_; }
  // The next pause is `min` again.
  constexpr void reset() { next_ = min_; }

  // The n-th pause, counted from 1.
  [[nodiscard]] static constexpr Duration nth(Duration min, Duration max, std::uint32_t n) {
    Backoff backoff(min, max);
    for (std::uint32_t i = 1; i < n && backoff.next_ < backoff.max_ && min.count() > 0; ++i) {
      backoff.next();
    }
    return backoff.next_;
  }

 private:
  Duration min_;
  Duration max_;
  Duration next_;
};

// The pause spread by a quarter up and down, so that many clients do not come back at once.
// unit: from 0 to 1.
[[nodiscard]] inline Backoff::Duration with_jitter(Backoff::Duration pause, double unit) {
  const double factor = 0.75 + 0.5 * unit;
  return Backoff::Duration{std::llround(static_cast<double>(pause.count()) * factor)};
}

}  // namespace stowage::base
