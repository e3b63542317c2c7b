// Rate limits and delays: a token bucket, and pauses that grow.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "base/backoff.h"
#include "base/rng.h"
#include "kube/clock.h"
#include "net/event_loop.h"

namespace stowage::kube {

// Adds `per_second` tokens per second, keeps at most `burst`, and starts full. A rate of 0 or less
// means no limit.
class TokenBucket {
 public:
  TokenBucket(double per_second, double burst)
      : per_second_(per_second), burst_(std::max(burst, 1.0)), tokens_(burst_) {}

  // Takes a token unless that would leave fewer than `reserve`. A reserve that even a full bucket
  // could not leave is lowered to what it could.
  bool take(SteadyTime now, double reserve = 0) {
    if (per_second_ <= 0) return true;
    refill(now);
    if (tokens_ < needed(reserve)) return false;
    tokens_ -= 1;
    return true;
  }

  // How long until take() can succeed.
  [[nodiscard]] net::Duration wait(SteadyTime now, double reserve = 0) {
    if (per_second_ <= 0) return net::Duration::zero();
    refill(now);
    const double missing = std::max(0.0, needed(reserve) - tokens_);
    const double seconds = std::min(missing / per_second_, 3600.0);
    return net::Duration{std::llround(std::ceil(seconds * 1e9))};
  }

 private:
  [[nodiscard]] double needed(double reserve) const { return 1 + std::min(reserve, burst_ - 1); }

  void refill(SteadyTime now) {
    if (last_ != SteadyTime{} && now > last_) {
      const double seconds = std::chrono::duration<double>(now - last_).count();
      tokens_ = std::min(burst_, tokens_ + seconds * per_second_);
    }
    last_ = now;
  }

  double per_second_;
  double burst_;
  double tokens_;
  SteadyTime last_{};
};

// base::Backoff with jitter from a seed.
class JitteredBackoff {
 public:
  JitteredBackoff(net::Duration min, net::Duration max, std::uint64_t seed)
      : backoff_(min, max), rng_(seed) {}

  net::Duration next() { return spread(backoff_.next()); }
  void reset() { backoff_.reset(); }
  // Any pause, with jitter.
  [[nodiscard]] net::Duration spread(net::Duration pause) {
    return base::with_jitter(pause, rng_.unit());
  }

 private:
  base::Backoff backoff_;
  base::Rng rng_;
};

}  // namespace stowage::kube
