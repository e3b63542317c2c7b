#include "metricsapi/watch.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace stowage::metricsapi {
namespace {

constexpr std::size_t kChunk = std::size_t{64} << 10U;
constexpr std::uint64_t kTimeoutSteps = 16;  // of a thirtieth each, so that not all end at once
constexpr std::int64_t kTimeoutParts = 30;

}  // namespace

Watchers::Watchers(WatchLimits limits, net::EventLoop& loop, WatchCache& watch_cache)
    : limits_(limits), loop_(loop), watch_cache_(watch_cache), timer_(loop) {
  watch_cache_.listen([this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) wake();
  });
  timer_.start(limits_.look, [this] { look(); });
}

Watchers::~Watchers() { send_away(); }

bool Watchers::add(const Ask& ask, const std::shared_ptr<net::Responder>& responder) {
  if (watchers_.size() >= limits_.watchers_max) {
    ++counters_.refused;
    return false;
  }
  const net::Moment now = loop_.now();
  auto watcher = std::make_shared<Watcher>();
  watcher->shape = ask.shape;
  watcher->selector = ask.selector;
  const bool kubernetes = ask.shape.style == Style::kubernetes;
  watcher->bookmarks = kubernetes && ask.watch.bookmarks;
  watcher->initial_end = ask.watch.initial_end;
  watcher->seen = watcher->current = ask.watch.initial ? 0 : ask.watch.since;
  watcher->floor = ask.watch.initial ? watch_cache_.version() : ask.watch.since;
  watcher->responder = responder;
  const auto part = static_cast<std::int64_t>(counters_.opened % kTimeoutSteps);
  net::Duration timeout = ask.watch.timeout;
  if (timeout.count() == 0) timeout = limits_.timeout + limits_.timeout * part / kTimeoutParts;
  watcher->end = kubernetes || ask.watch.timeout.count() > 0 ? now + timeout : net::Moment::max();
  watcher->next_beat = now + limits_.beat;
  watcher->next_bookmark = now + limits_.bookmark;
  ++counters_.opened;
  responder->begin({.status = 200, .headers = {{"Content-Type", "application/json"}}});
  responder->on_closed(
      [this, alive = std::weak_ptr<bool>(alive_), weak = std::weak_ptr<Watcher>(watcher)] {
        const WatcherPtr closed = weak.lock();
        if (!alive.expired() && closed) watchers_.remove(closed);
      });
  watchers_.push_front(std::move(watcher));
  wake();
  return true;
}

void Watchers::wake() {
  if (std::exchange(woken_, true)) return;
  loop_.post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) turn();
  });
}

// A version that this process has not given out, or one so old that a deletion was forgotten since.
bool Watchers::missed(const Watcher& watcher) const {
  const std::uint64_t known = std::max(watcher.seen, watcher.floor);
  return known < watch_cache_.lost(watcher.shape.resource) || known > watch_cache_.version();
}

// Each watcher gets a chunk in its turn; one that has not read its data waits until it has.
void Watchers::turn() {
  woken_ = false;
  const Now now = watch_cache_.now();
  std::size_t budget = limits_.turn_bytes;
  bool more = false;
  std::vector<WatcherPtr> ended;
  for (std::size_t left = watchers_.size(); left > 0; --left) {
    if (budget == 0) {
      more = true;
      break;
    }
    const WatcherPtr watcher = watchers_.front();
    watchers_.splice(watchers_.end(), watchers_, watchers_.begin());
    if (missed(*watcher)) {
      ended.push_back(watcher);
    } else if (feed(*watcher, budget, now) == More::now) {
      more = true;
    }
  }
  lines_.clear();
  for (const WatcherPtr& watcher : ended) {
    ++counters_.lagged;
    if (watcher->shape.style == Style::kubernetes) {
      write(*watcher,
            error_line(expired("the changes since that version are no longer known: list again")));
    }
    finish(watcher);
  }
  if (more) wake();
}

Watchers::More Watchers::feed(Watcher& watcher, std::size_t& budget, const Now& now) {
  if (watcher.responder->backlog() > limits_.backlog_max) return More::when_taken;
  std::string out;
  const WatchCache::Entry* entry = nullptr;
  while (out.size() < std::min(kChunk, budget) &&
         (entry = watch_cache_.next(watcher.shape.resource, watcher.seen)) != nullptr) {
    // The watcher need not know of an object that was both created and deleted since its version.
    const bool unknown = entry->gone && entry->born > watcher.seen;
    if (!unknown && watcher.selector.matches(entry->name)) append(watcher, *entry, out, now);
    watcher.seen = entry->version;
  }
  const bool more = watch_cache_.next(watcher.shape.resource, watcher.seen) != nullptr;
  if (!more) {
    watcher.seen = watcher.current = std::max(watcher.seen, watch_cache_.version());
    if (std::exchange(watcher.initial_end, false)) {
      out += bookmark_line(watcher.seen, watcher.shape, true);
    }
  }
  budget -= std::min(budget, out.size());
  if (!out.empty()) write(watcher, std::move(out));
  return more ? More::now : More::none;
}

void Watchers::append(Watcher& watcher, const WatchCache::Entry& entry, std::string& out,
                      const Now& now) {
  const Shape& shape = watcher.shape;
  // For a watcher that is behind it is unknown what it has been sent since: it may get an object as
  // added twice.
  const Change change = entry.gone                     ? Change::deleted
                        : entry.born > watcher.current ? Change::added
                                                       : Change::modified;
  if (shape.form == Form::table && !std::exchange(watcher.columns_sent, true)) {
    out += watch_line(change, watch_cache_.object(shape.resource, entry, now), shape, Columns::with,
                      now);
    return;
  }
  std::string& line = lines_[Line{shape, change, entry.version}];
  if (line.empty()) {
    line = watch_line(change, watch_cache_.object(shape.resource, entry, now), shape,
                      Columns::without, now);
  }
  out += line;
}

void Watchers::write(Watcher& watcher, std::string bytes) {
  counters_.bytes += bytes.size();
  watcher.next_beat = loop_.now() + limits_.beat;
  watcher.responder->write(std::make_shared<const std::string>(std::move(bytes)));
}

void Watchers::finish(const WatcherPtr& watcher) {
  watchers_.remove(watcher);
  watcher->responder->end();
}

void Watchers::look() {
  timer_.start(limits_.look, [this] { look(); });
  const net::Moment now = loop_.now();
  std::vector<WatcherPtr> ended;
  for (const WatcherPtr& watcher : watchers_) {
    if (now >= watcher->end) {
      ended.push_back(watcher);
      continue;
    }
    if (watcher->responder->backlog() > 0) continue;
    const bool current = watch_cache_.next(watcher->shape.resource, watcher->seen) == nullptr;
    if (watcher->bookmarks && current && now >= watcher->next_bookmark) {
      watcher->next_bookmark = now + limits_.bookmark;
      write(*watcher, bookmark_line(watcher->seen, watcher->shape, false));
    } else if (now >= watcher->next_beat) {
      write(*watcher, " ");
    }
  }
  for (const WatcherPtr& watcher : ended) finish(watcher);
  wake();  // for watchers that have read their backlog
}

void Watchers::send_away() {
  for (const WatcherPtr& watcher : std::exchange(watchers_, {})) watcher->responder->end();
}

Watchers::Counters Watchers::counters() const {
  Counters counters = counters_;
  counters.open = watchers_.size();
  return counters;
}

}  // namespace stowage::metricsapi
