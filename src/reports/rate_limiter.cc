#include "reports/rate_limiter.h"

#include <algorithm>

namespace stowage::reports {

// In steps of a tenth of a second, to avoid rounding losses.
void RateLimiter::refill(Left& left, net::Moment now) const {
  constexpr std::chrono::milliseconds kStep{100};
  if (now - left.at < kStep) return;
  const std::int64_t steps = (now - left.at) / kStep;
  const std::int64_t each = std::max<std::int64_t>(options_.bytes_per_second / 10, 1);
  const std::int64_t missing = options_.burst_bytes - left.bytes;
  left.bytes += steps > missing / each ? missing : steps * each;
  left.at += steps * kStep;
}

RateLimiter::Left& RateLimiter::left(const std::string& node, net::Moment now) {
  const auto [at, fresh] = nodes_.try_emplace(node);
  if (fresh) at->second = {.bytes = options_.burst_bytes, .at = now};
  refill(at->second, now);
  return at->second;
}

bool RateLimiter::allow_connect(const std::string& node, net::Moment now) {
  Left& has = left(node, now);
  if (has.bytes < options_.bytes_of_coming) return false;
  has.bytes -= options_.bytes_of_coming;
  return true;
}

bool RateLimiter::send(const std::string& node, std::size_t bytes, net::Moment now) {
  Left& has = left(node, now);
  const auto sent = static_cast<std::int64_t>(bytes);
  // Not below minus one burst: so the wait is bounded, even after a node has sent very much.
  has.bytes = std::max(has.bytes - sent, -options_.burst_bytes);
  return has.bytes >= 0;
}

bool RateLimiter::may_warn(const std::string& node, net::Moment now) {
  Left& has = left(node, now);
  if (has.has_warned && now - has.warned < options_.warn_every) return false;
  has.has_warned = true;
  has.warned = now;
  return true;
}

void RateLimiter::tidy(net::Moment now) {
  std::erase_if(nodes_, [&](const auto& entry) {
    Left has = entry.second;
    refill(has, now);
    return has.bytes >= options_.burst_bytes &&
           (!has.has_warned || now - has.warned >= options_.warn_every);
  });
}

}  // namespace stowage::reports
