// Pauses that double from `min` to `max`, or stay at `min` if it is larger. A plain value without
// clock or randomness. For jitter, pass the result of next() to with_jitter() with a random number.
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

  // The pause to take now. The following one is twice as long.
  constexpr Duration next() {
    const Duration pause = next_;
    next_ = std::min(max_, next_ * 2);
    return pause;
  }
  // The result of next(), without advancing.
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

// The pause changed by up to a quarter up or down, so that many clients do not return at once.
// unit: from 0 to 1.
[[nodiscard]] inline Backoff::Duration with_jitter(Backoff::Duration pause, double unit) {
  const double factor = 0.75 + 0.5 * unit;
  return Backoff::Duration{std::llround(static_cast<double>(pause.count()) * factor)};
}

}  // namespace stowage::base
