// A token bucket. A try of a pod that waits for other pods or for volumes may cost a walk over all
// nodes. The bucket limits such tries, so that many such pods do not delay the others. A small
// burst is allowed.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/instant.h"

namespace stowage::core {

class RetryBudget {
 public:
  static constexpr double kTriesPerSecond = 100;
  static constexpr double kTriesAtOnce = 64;

  // True if the bucket has enough tokens for a try of this cost.
  [[nodiscard]] bool has(std::int32_t cost, base::Instant now) {
    const auto passed = static_cast<double>(now.ns - filled_at_.ns) * 1e-9;
    filled_at_ = now;
    left_ = std::min(kTriesAtOnce, left_ + std::max(0.0, passed) * kTriesPerSecond);
    return left_ >= cost;
  }
  [[nodiscard]] bool take(std::int32_t cost, base::Instant now) {
    if (!has(cost, now)) return false;
    left_ -= cost;
    return true;
  }

 private:
  double left_ = 0;
  base::Instant filled_at_{-1'000'000'000};  // full at the start
};

}  // namespace stowage::core
