// Detects a peer that has died or hangs without closing the connection. Internal to src/grpc.
//
//   busy, silent for ping_after --> pinged --no byte for ping_timeout--> lost
//        ^                             |
//        +-----------a byte------------+
//
// gRPC servers close connections that ping too often: a ping is allowed after the server has sent
// headers or data, and otherwise once in five minutes. So a server that is alive but sends nothing
// is pinged once, and then again after ping_again.
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
  struct Deps {
    std::function<void()> ping;  // both callbacks may destroy it
    std::function<void()> lost;
  };
  Keepalive(net::EventLoop& loop, const KeepaliveOptions& options, Deps deps);

  // Whether data is expected from the peer.
  void set_busy(bool busy);
  // Bytes have arrived. `progress` grows with every frame of headers or data.
  void heard(std::uint64_t progress);

 private:
  void watch();
  void silent();

  net::EventLoop& loop_;
  KeepaliveOptions options_;
  Deps deps_;
  net::Timer timer_;
  bool busy_ = false;
  bool waiting_ = false;  // for any byte after a ping
  bool has_pinged_ = false;
  net::Moment pinged_at_{};
  std::uint64_t progress_ = 0;
  std::uint64_t pinged_progress_ = 0;  // value of progress at the last ping
};

}  // namespace stowage::grpc
