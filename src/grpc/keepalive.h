// Notices a peer that has died or hangs without closing the connection. For src/grpc alone.
//
//   busy, silent for ping_after --> pinged --not a byte for ping_timeout--> lost
//        ^                             |
//        +-----------a byte------------+
//
// Servers of gRPC end connections that ping them too often: a ping is free after the server has
// sent headers or data, and otherwise once in five minutes. So one that is alive but has nothing to
// say is asked once, and then again after ping_again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "net/event_loop.h"

namespace stowage::grpc {

struct KeepaliveOptions {
  net::Duration ping_after = std::chrono::seconds{5};
  net::Duration ping_timeout = std::chrono::seconds{5};
  net::Duration ping_again = std::chrono::minutes{6};
};

class Keepalive {
 public:
  struct Ends {
    std::function<void()> ping;  // both may destroy it
    std::function<void()> lost;
  };
  Keepalive(net::EventLoop& loop, const KeepaliveOptions& options, Ends ends);

  // Something is expected of the peer, or not any more.
  void set_busy(bool busy);
  // Bytes have come. `progress` grows with every frame of headers or data.
  void heard(std::uint64_t progress);

 private:
  void watch();
  void silent();

  net::EventLoop& loop_;
  KeepaliveOptions options_;
  Ends ends_;
  net::Timer timer_;
  bool busy_ = false;
  bool waiting_ = false;  // for any byte after a ping
  bool has_pinged_ = false;
  net::Moment pinged_at_{};
  std::uint64_t progress_ = 0;
  std::uint64_t pinged_progress_ = 0;  // when the last ping was sent
};

}  // namespace stowage::grpc
