// The longest of many durations within the last minute or two, for metrics of pauses. Older values
// are dropped, so that a slow start does not hide later ones.
#pragma once

#include <algorithm>
#include <chrono>

namespace stowage::base {

class Longest {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  using Time = std::chrono::nanoseconds;
  static constexpr std::chrono::seconds kWindow{60};

  void add(Time time, Moment now) {
    turn_over(now);
    newest_ = std::max(newest_, time);
  }
  [[nodiscard]] Time get(Moment now) {
    turn_over(now);
    return std::max(newest_, older_);
  }

 private:
  void turn_over(Moment now) {
    if (now < began_ + kWindow) return;
    older_ = now < began_ + 2 * kWindow ? newest_ : Time::zero();
    newest_ = Time::zero();
    began_ = now;
  }

  Moment began_{};
  Time newest_{};
  Time older_{};
};

}  // namespace stowage::base
