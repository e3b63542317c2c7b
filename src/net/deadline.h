// A moment from now, for any duration: one too long to be added to the clock never comes.
#pragma once

#include <algorithm>
#include <chrono>

#include "net/event_loop.h"

namespace stowage::net {

[[nodiscard]] inline std::chrono::steady_clock::time_point after(Duration delay) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point now = Clock::now();
  const Duration longest = Clock::time_point::max() - now;
  return now + std::clamp(delay, Duration::zero(), longest);
}

}  // namespace stowage::net
