#include "kube/event_recorder.h"

#include <algorithm>
#include <deque>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/lru_map.h"
#include "codec/encode.h"
#include "kube/object_access.h"
#include "kube/pacing.h"

namespace stowage::kube {
namespace {

constexpr std::string_view kNodeNamespace = "default";

// One event and its repetitions.
struct Series {
  EventRequest ask;
  std::uint64_t id = 0;      // another series may take the key later
  std::string name;          // of the event
  std::int32_t count = 1;    // how often it happened
  std::int32_t written = 1;  // the count that the server has
  bool created = false;
  bool busy = false;    // a call is under way
  bool queued = false;  // a patch is due later
  SteadyTime seen{};
  SteadyTime told{};  // last write to the server
  WallTime when{};    // last occurrence
};

// An event that the server does not have yet. Owns everything it needs: its series may be forgotten
// while it waits.
struct Unwritten {
  std::uint64_t id = 0;
  EventRequest ask;
  WallTime when{};
  std::string name;  // fixed at the first attempt, so that no event is written twice
  std::uint32_t attempts = 0;
};

bool may_try_again(const CallResult& reply) {
  if (!reply) return !reply.error().shed;
  return reply->status >= 500 || reply->status == 429;
}

std::string object_key(const EventObject& object) {
  return fmt::format("{}\n{}\n{}\n{}", object.kind, object.ns, object.name, object.uid);
}

std::string series_key(const EventRequest& ask) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", object_key(ask.regarding), static_cast<int>(ask.type),
                     to_string(ask.reason), ask.action, ask.note);
}

std::string events_path(const EventObject& object) {
  return fmt::format("/apis/events.k8s.io/v1/namespaces/{}/events",
                     object.ns.empty() ? kNodeNamespace : object.ns);
}

}  // namespace

struct EventRecorder::Impl : std::enable_shared_from_this<EventRecorder::Impl> {
  Impl(ApiClient& api, EventRecorderOptions given)
      : client(api),
        options(std::move(given)),
        series(options.series_max),
        objects(options.series_max),
        bucket(options.per_second, options.burst),
        timer(client.loop()),
        rests(options.rest_min, options.rest_max, 1),
        rest_timer(client.loop()) {}

  void record(EventRequest ask) {
    ++counters.asked;
    const SteadyTime now = client.loop().now();
    std::string key = series_key(ask);
    Series* known = series.find(key);
    if (known != nullptr && now - known->seen <= options.series_gap) {
      ++counters.merged;
      ++known->count;
      known->seen = now;
      known->when = options.wall_clock();
      queue_patch(key, *known);
      return;
    }
    const bool limited = ask.type != EventType::normal;
    if (!object_may_speak(ask.regarding, now) || (limited && !bucket.take(now))) {
      ++counters.dropped;
      return;
    }
    Series fresh;
    fresh.id = ++last_id;
    fresh.ask = std::move(ask);
    fresh.seen = now;
    fresh.when = options.wall_clock();
    create(series.put(key, std::move(fresh)));
    pump();
  }

  bool object_may_speak(const EventObject& object, SteadyTime now) {
    std::string key = object_key(object);
    TokenBucket* own = objects.find(key);
    if (own == nullptr) {
      const double every = std::chrono::duration<double>(options.per_object_every).count();
      own = &objects.put(std::move(key),
                         TokenBucket(every > 0 ? 1 / every : 0, options.per_object_burst));
    }
    return own->take(now);
  }

  void create(Series& each) {
    each.busy = true;
    if (unwritten.size() >= options.waiting_max) {
      ++counters.dropped;
      forget(unwritten.front());
      unwritten.pop_front();
    }
    unwritten.push_back({.id = each.id, .ask = each.ask, .when = each.when});
  }

  // Passes a few of them to the client, which delays them while there are binds.
  void pump() {
    while (!resting && !unwritten.empty() && calls < options.calls_max) {
      Unwritten next = std::move(unwritten.front());
      unwritten.pop_front();
      write(std::move(next));
    }
  }

  void write(Unwritten each) {
    if (++each.attempts == 1) {
      // Two events of the same nanosecond must have different names.
      last_nanos = std::max(unix_nanos(each.when), last_nanos + 1);
      each.name = codec::event_name(each.ask.regarding.name, last_nanos);
    } else {
      ++counters.retried;
    }
    const EventObject& object = each.ask.regarding;
    codec::EventRecord record;
    record.name = each.name;
    record.type = each.ask.type == EventType::normal ? codec::EventRecord::Type::normal
                                                     : codec::EventRecord::Type::warning;
    record.reason = to_string(each.ask.reason);
    record.action = each.ask.action;
    record.note = each.ask.note;
    record.controller = options.controller;
    record.instance = options.instance;
    record.unix_micros = unix_micros(each.when);
    record.kind = object.kind;
    record.ns = object.ns;
    record.object = object.name;
    record.uid = object.uid;
    ApiCall call;
    call.method = "POST";
    call.target = events_path(object);
    call.body = codec::event(record);
    call.lane = Lane::events;
    ++calls;
    client.call(std::move(call), options.call_deadline,
                [weak = weak_from_this(), each = std::move(each)](const CallResult& reply) mutable {
                  if (const auto self = weak.lock()) self->written(std::move(each), reply);
                });
  }

  void written(Unwritten each, const CallResult& reply) {
    --calls;
    const bool there = reply && reply->status == 409 && each.attempts > 1;
    if (there || succeeded(reply)) {
      ++counters.created;
      rests.reset();
      const std::string key = series_key(each.ask);
      if (Series* known = alive(key, each.id)) {
        known->busy = false;
        known->created = true;
        known->name = each.name;
        known->told = client.loop().now();
        known->written = 1;
        if (known->count > known->written) queue_patch(key, *known);
      }
    } else if (may_try_again(reply) && each.attempts < options.attempts_max) {
      unwritten.push_back(std::move(each));
      rest();
    } else {
      failed(reply);
      forget(each);
    }
    pump();
  }

  // A server that does not answer is not called for a while.
  void rest() {
    if (std::exchange(resting, true)) return;
    rest_timer.start(rests.next(), [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      self->resting = false;
      self->pump();
    });
  }

  Series* alive(const std::string& key, std::uint64_t id) {
    Series* each = series.find(key);
    return each != nullptr && each->id == id ? each : nullptr;
  }

  // If the first event is lost there is no series: the next occurrence is a first one.
  void forget(const Unwritten& each) {
    const std::string key = series_key(each.ask);
    if (alive(key, each.id) != nullptr) series.erase(key);
  }

  void failed(const CallResult& reply) {
    if (!reply && reply.error().shed) {
      ++counters.shed;
      return;
    }
    ++counters.failed;
    counters.last_error = explain("write an event", reply);
  }

  void patch(const std::string& key, Series& each) {
    each.busy = true;
    each.told = client.loop().now();
    each.written = each.count;
    ApiCall call;
    call.method = "PATCH";
    call.target = fmt::format("{}/{}", events_path(each.ask.regarding), each.name);
    call.content_type = kMergePatch;
    call.body = codec::event_series_patch(each.count, unix_micros(each.when));
    call.lane = Lane::events;
    client.call(std::move(call), options.call_deadline,
                [weak = weak_from_this(), key, id = each.id](const CallResult& r) {
                  if (const auto self = weak.lock()) self->patched(key, id, r);
                });
  }

  void patched(const std::string& key, std::uint64_t id, const CallResult& reply) {
    Series* each = alive(key, id);
    if (each != nullptr) each->busy = false;
    if (succeeded(reply)) {
      ++counters.patched;
      if (each != nullptr && each->count > each->written) queue_patch(key, *each);
    } else if (reply && reply->status == 404 && each != nullptr) {
      // The server keeps events for about an hour; this one starts again.
      each->created = false;
      each->count = 1;
      create(*each);
      pump();
    } else {
      failed(reply);
    }
  }

  void queue_patch(const std::string& key, Series& each) {
    if (each.queued || each.busy || !each.created) return;  // a reply continues here
    each.queued = true;
    due.insert({each.told + options.series_patch_every, each.id, key});
    arm();
  }

  void arm() {
    if (due.empty()) return;
    const SteadyTime now = client.loop().now();
    const net::Duration pause = std::max<net::Duration>(due.begin()->at - now, bucket.wait(now));
    timer.start(std::max(pause, net::Duration::zero()), [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->flush();
    });
  }

  void flush() {
    const SteadyTime now = client.loop().now();
    while (!due.empty() && due.begin()->at <= now) {
      const Due next = *due.begin();
      Series* each = series.find(next.key);
      const bool alive = each != nullptr && each->id == next.id;
      if (alive && !bucket.take(now)) break;
      due.erase(due.begin());
      if (!alive) continue;
      each->queued = false;
      if (each->count > each->written && !each->busy) patch(next.key, *each);
    }
    arm();
  }

  struct Due {
    SteadyTime at{};
    std::uint64_t id = 0;
    std::string key;
    bool operator<(const Due& other) const {
      return std::tie(at, id) < std::tie(other.at, other.id);
    }
  };

  ApiClient& client;
  const EventRecorderOptions options;
  base::LruMap<Series> series;
  base::LruMap<TokenBucket> objects;
  TokenBucket bucket;
  net::Timer timer;
  std::set<Due> due;  // patches that are due; at most one for each series
  std::deque<Unwritten> unwritten;
  std::size_t calls = 0;  // creations under way in the client
  JitteredBackoff rests;
  net::Timer rest_timer;
  bool resting = false;
  std::uint64_t last_id = 0;
  std::int64_t last_nanos = 0;
  EventCounters counters;
};

EventRecorder::EventRecorder(ApiClient& client, EventRecorderOptions options) {
  if (options.instance.empty()) options.instance = options.controller;
  impl_ = std::make_shared<Impl>(client, std::move(options));
}
EventRecorder::~EventRecorder() = default;

void EventRecorder::record(EventRequest ask) { impl_->record(std::move(ask)); }

EventCounters EventRecorder::counters() const {
  EventCounters counters = impl_->counters;
  counters.series = impl_->series.size();
  counters.waiting = impl_->unwritten.size() + impl_->calls;
  return counters;
}

}  // namespace stowage::kube
