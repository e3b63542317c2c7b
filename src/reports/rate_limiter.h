// Limits how much an agent may send: a burst of bytes, and bytes per second. Limits are kept by
// node, not by stream: reconnecting does not reset them, and each connection has a cost. Pure: the
// time is a parameter.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "net/event_loop.h"

namespace stowage::reports {

struct RateLimiterOptions {
  // An agent sends its whole state when it connects, and then little: some hundred bytes a second.
  std::int64_t burst_bytes = std::int64_t{8} << 20U;
  std::int64_t bytes_per_second = std::int64_t{512} << 10U;
  std::int64_t bytes_of_coming = std::int64_t{64} << 10U;
  net::Duration warn_every = std::chrono::seconds{60};  // per node
};

class RateLimiter {
 public:
  explicit RateLimiter(RateLimiterOptions options) : options_(options) {}

  // False: the node has sent too much or connected too often, and has to wait.
  [[nodiscard]] bool allow_connect(const std::string& node, net::Moment now);
  [[nodiscard]] bool send(const std::string& node, std::size_t bytes, net::Moment now);
  // Whether a warning about this node may be logged again. An agent must not fill the log.
  [[nodiscard]] bool may_warn(const std::string& node, net::Moment now);
  // Forgets nodes whose limits are completely refilled. Call from time to time.
  void tidy(net::Moment now);
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

 private:
  struct Left {
    std::int64_t bytes = 0;
    net::Moment at{};
    net::Moment warned{};
    bool has_warned = false;
  };
  Left& left(const std::string& node, net::Moment now);
  void refill(Left& left, net::Moment now) const;

  RateLimiterOptions options_;
  std::unordered_map<std::string, Left> nodes_;
};

}  // namespace stowage::reports
