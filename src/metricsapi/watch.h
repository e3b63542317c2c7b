// Watchers: each gets the initial objects, if requested, and then changes. A watch ends when the
// client disconnects, its time is over, or it was so slow that a deletion was forgotten which it
// has not seen.
//
// There are no queues per watcher: a watcher is a position in the versions of the watch cache. A
// watcher that reads nothing falls behind and holds at most `backlog_max` bytes; when it continues,
// it gets the newest state of everything that has changed. If that is not enough (see
// WatchCache::lost()), a Kubernetes client gets an ERROR with code 410, and for a client of the
// original the stream ends: both reconnect and get everything.
//
// From time to time a blank is sent, which JSON readers ignore, to detect lost peers. The amount of
// data sent in one turn of the loop is limited, so that other work proceeds.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "metricsapi/render.h"
#include "metricsapi/request.h"
#include "metricsapi/watch_cache.h"
#include "net/event_loop.h"
#include "net/http_server.h"

namespace stowage::metricsapi {

struct WatchLimits {
  std::size_t watchers_max = 512;
  std::size_t backlog_max = std::size_t{1} << 20U;  // bytes that a watcher has not read
  std::size_t turn_bytes = std::size_t{1} << 20U;   // to all of them, in one turn of the loop
  net::Duration look = std::chrono::milliseconds{200};
  net::Duration beat = std::chrono::seconds{15};
  net::Duration bookmark = std::chrono::seconds{60};
  // For a Kubernetes client that gives no timeout; slightly different for each. A watch of the
  // original has no limit.
  net::Duration timeout = std::chrono::minutes{30};
};

class Watchers {
 public:
  // The watch cache outlives them, and has no other listener.
  Watchers(WatchLimits limits, net::EventLoop& loop, WatchCache& watch_cache);
  ~Watchers();  // ends their streams
  Watchers(const Watchers&) = delete;
  Watchers& operator=(const Watchers&) = delete;

  // Answers the request. Returns false if there are too many already.
  [[nodiscard]] bool add(const Ask& ask, const std::shared_ptr<net::Responder>& responder);
  // Ends the watches: clients ask again, perhaps another replica.
  void send_away();

  struct Counters {
    std::uint64_t opened = 0;
    std::uint64_t refused = 0;
    std::uint64_t lagged = 0;  // ended because they had missed a deletion
    std::uint64_t bytes = 0;
    std::size_t open = 0;
  };
  [[nodiscard]] Counters counters() const;

 private:
  struct Watcher {
    Shape shape;
    Selector selector;
    bool bookmarks = false;
    bool initial_end = false;   // still to be sent
    std::uint64_t seen = 0;     // all changes up to this version
    std::uint64_t current = 0;  // the last version at which it had seen everything
    std::uint64_t floor = 0;    // objects deleted before that were never sent to it
    bool columns_sent = false;
    std::shared_ptr<net::Responder> responder;
    net::Moment end{};
    net::Moment next_beat{};
    net::Moment next_bookmark{};
  };
  using WatcherPtr = std::shared_ptr<Watcher>;
  // Lines written in this turn, for the next watcher with the same request.
  using Line = std::tuple<Shape, Change, std::uint64_t>;

  void wake();
  void turn();
  void look();
  enum class More : std::uint8_t { none, now, when_taken };
  [[nodiscard]] More feed(Watcher& watcher, std::size_t& budget, const Now& now);
  void append(Watcher& watcher, const WatchCache::Entry& entry, std::string& out, const Now& now);
  void write(Watcher& watcher, std::string bytes);
  void finish(const WatcherPtr& watcher);
  [[nodiscard]] bool missed(const Watcher& watcher) const;

  const WatchLimits limits_;
  net::EventLoop& loop_;
  WatchCache& watch_cache_;
  std::list<WatcherPtr> watchers_;  // the next one is in front
  std::map<Line, std::string> lines_;
  bool woken_ = false;
  net::Timer timer_;
  Counters counters_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stowage::metricsapi
