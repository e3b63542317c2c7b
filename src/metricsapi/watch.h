// Those who watch: each gets what there is, if it wants that, and then what changes, until it goes
// away, its time is up, or it has been so slow that an end was forgotten which it has not seen.
//
// Nobody has a queue of its own: a watcher is a place in the versions of the shelf. One that takes
// nothing falls behind and holds at most `backlog_max` bytes; when it comes back it is sent the
// newest state of whatever has changed. If that is not enough (see Shelf::lost()), a watcher of
// Kubernetes is told so by an ERROR with code 410, and one of the original's by the end of its
// stream: both come again and are told everything.
//
// Now and then a blank goes out, which whoever reads JSON passes over: a peer that is gone is
// noticed. All that is sent in one turn of the loop is limited, and then others go on.
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
#include "metricsapi/shelf.h"
#include "net/event_loop.h"
#include "net/http_server.h"

namespace stowage::metricsapi {

struct WatchLimits {
  std::size_t watchers_max = 512;
  std::size_t backlog_max = std::size_t{1} << 20U;  // bytes that a watcher has not taken
  std::size_t turn_bytes = std::size_t{1} << 20U;   // to all of them, in one turn of the loop
  net::Duration look = std::chrono::milliseconds{200};
  net::Duration beat = std::chrono::seconds{15};
  net::Duration bookmark = std::chrono::seconds{60};
  // Of a watcher of Kubernetes that does not say how long; each a little different. One of the
  // original's goes on for ever.
  net::Duration timeout = std::chrono::minutes{30};
};

class Watchers {
 public:
  // The shelf outlives them, and has no other listener.
  Watchers(WatchLimits limits, net::EventLoop& loop, Shelf& shelf);
  ~Watchers();  // their streams end
  Watchers(const Watchers&) = delete;
  Watchers& operator=(const Watchers&) = delete;

  // Answers the request. False: there are too many already.
  [[nodiscard]] bool add(const Ask& ask, const std::shared_ptr<net::Responder>& responder);
  // They are to ask again, and somebody else may answer.
  void send_away();

  struct Counters {
    std::uint64_t opened = 0;
    std::uint64_t refused = 0;
    std::uint64_t lagged = 0;  // ended because they had missed something
    std::uint64_t bytes = 0;
    std::size_t open = 0;
  };
  [[nodiscard]] Counters counters() const;

 private:
  struct Watcher {
    Shape shape;
    Selector selector;
    bool bookmarks = false;
    bool initial_end = false;   // still to be told
    std::uint64_t seen = 0;     // all changes up to this version
    std::uint64_t current = 0;  // the last version at which it had seen everything
    std::uint64_t floor = 0;    // of what ended before that, it never knew
    bool columns_sent = false;
    std::shared_ptr<net::Responder> responder;
    net::Moment end{};
    net::Moment next_beat{};
    net::Moment next_bookmark{};
  };
  using WatcherPtr = std::shared_ptr<Watcher>;
  // What was written in this turn, for the next one who wants the same.
  using Line = std::tuple<Shape, Change, std::uint64_t>;

  void wake();
  void turn();
  void look();
  enum class More : std::uint8_t { none, now, when_taken };
  [[nodiscard]] More feed(Watcher& watcher, std::size_t& budget, const Now& now);
  void append(Watcher& watcher, const Shelf::Entry& entry, std::string& out, const Now& now);
  void write(Watcher& watcher, std::string bytes);
  void finish(const WatcherPtr& watcher);
  [[nodiscard]] bool missed(const Watcher& watcher) const;

  const WatchLimits limits_;
  net::EventLoop& loop_;
  Shelf& shelf_;
  std::list<WatcherPtr> watchers_;  // whose turn is next stands in front
  std::map<Line, std::string> lines_;
  bool woken_ = false;
  net::Timer timer_;
  Counters counters_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stowage::metricsapi
