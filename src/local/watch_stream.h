// One watch of one client: the existing objects, if requested, then every change. It ends when the
// client goes, its time is up, or it is so slow that history no longer reaches back. Buffers at
// most a few megabytes that the client has not taken; then it falls behind.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "local/call.h"
#include "local/render.h"
#include "local/store.h"
#include "net/http_server.h"

namespace stowage::local {

using SteadyTime = std::chrono::steady_clock::time_point;

struct WatchRequest {
  Kind kind = Kind::pod;
  Filter filter;
  Shape shape;
  std::uint64_t since = 0;
  bool initial_events = false;  // begin with the existing objects
  bool initial_end = false;     // and mark their end
  bool bookmarks = false;
  std::chrono::seconds timeout{0};  // 0: the server's default
};
[[nodiscard]] ApiResult<WatchRequest> watch_request(const Call& call);

struct WatchLimits {
  std::size_t backlog_max = 4U << 20U;  // bytes not taken by the client; then it waits
  std::chrono::seconds bookmark_every{60};
  std::chrono::seconds timeout{45 * 60};
};

class WatchStream {
 public:
  WatchStream(Store& store, WatchRequest request, std::shared_ptr<net::Responder> responder,
              WatchLimits limits, SteadyTime now);

  // Sends the head and what is available. Afterwards done() may already be true.
  void start();
  // Call periodically: sends delayed events and bookmarks, and ends the watch after its timeout.
  void tick(SteadyTime now);
  void close() { done_ = true; }  // the client has gone

  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] bool behind() const { return paused_ || next_initial_ < initial_.size(); }

 private:
  [[nodiscard]] bool full() const;
  void send_initial();
  void follow();
  void append(const WatchEvent& event);
  void flush();
  void finish();

  Store& store_;
  WatchRequest request_;
  std::shared_ptr<net::Responder> responder_;
  WatchLimits limits_;
  SteadyTime end_;
  SteadyTime next_bookmark_;
  std::vector<ObjectPtr> initial_;
  std::size_t next_initial_ = 0;
  std::string buffer_;
  Watch watch_;
  bool columns_sent_ = false;
  bool paused_ = false;
  bool done_ = false;
};

}  // namespace stowage::local
