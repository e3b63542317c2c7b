// How much an agent may send: so many bytes at once, and so many in a second. Kept by node, not by
// stream: who was cut off does not begin anew by coming again, and coming costs as well. Pure: the
// time is given.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "net/event_loop.h"

namespace stowage::reports {

struct AllowanceOptions {
  // An agent tells all that it knows when it comes, and then little: some hundred bytes a second.
  std::int64_t burst_bytes = std::int64_t{8} << 20U;
  std::int64_t bytes_per_second = std::int64_t{512} << 10U;
  std::int64_t bytes_of_coming = std::int64_t{64} << 10U;
  net::Duration warn_every = std::chrono::seconds{60};  // of one node
};

class Allowance {
 public:
  explicit Allowance(AllowanceOptions options) : options_(options) {}

  // False: it has sent too much, or came too often, and has to wait.
  [[nodiscard]] bool come(const std::string& node, net::Moment now);
  [[nodiscard]] bool send(const std::string& node, std::size_t bytes, net::Moment now);
  // Is it time to say something about this node again? An agent is not to fill the log.
  [[nodiscard]] bool may_warn(const std::string& node, net::Moment now);
  // Forgets those who may send as much as ever. To be called every now and then.
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

  AllowanceOptions options_;
  std::unordered_map<std::string, Left> nodes_;
};

}  // namespace stowage::reports
