#include "kube/condition_writer.h"

#include <functional>
#include <list>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/lru_map.h"
#include "codec/encode.h"
#include "kube/object_path.h"
#include "kube/pacing.h"

namespace stowage::kube {
namespace {

constexpr const char* kStrategicPatch = "application/strategic-merge-patch+json";

// A fingerprint of a condition, so that the text need not be kept.
struct Print {
  std::size_t reason = 0;
  std::size_t size = 0;
  std::size_t hash = 0;
  friend bool operator==(const Print&, const Print&) = default;
};
Print print_of(const ConditionRequest& ask) {
  const std::hash<std::string> hash;
  return {hash(ask.reason), ask.message.size(), hash(ask.message)};
}

struct Waiting {
  ConditionRequest ask;
  std::uint32_t attempts = 0;
};

// A pod with a condition that waits, is on its way, or both.
struct PodEntry {
  std::optional<Waiting> waiting;
  std::optional<Print> flying;
  bool forgotten = false;  // forgotten while on its way
  bool queued = false;     // it is in `order`, at `place`
  std::list<std::string>::iterator place;
};

bool worth_repeating(const CallResult& reply) {
  return !reply || reply->status >= 500 || reply->status == 429 || reply->status == 401;
}

}  // namespace

struct ConditionWriter::Impl : std::enable_shared_from_this<ConditionWriter::Impl> {
  Impl(ApiClient& api, ConditionWriterOptions given)
      : client(api),
        options(std::move(given)),
        written(options.remembered_max),
        backoff(options.pause_min, options.pause_max, options.seed),
        timer(client.loop()) {}

  void write(ConditionRequest ask) {
    ++counters.asked;
    const std::string uid = ask.uid;
    const Print print = print_of(ask);
    PodEntry& entry = entries[uid];
    if (entry.waiting) {
      ++counters.replaced;
      drop_waiting(entry);
    }
    const Print* last = entry.flying ? &*entry.flying : written.find(uid);
    if (last != nullptr && *last == print) {
      ++counters.unchanged;
      entry.forgotten = false;
      release(uid);
      return;
    }
    entry.waiting = Waiting{std::move(ask)};
    ++waiting;
    if (!entry.flying) enqueue(uid, entry, order.end());
    if (waiting > options.waiting_max && !order.empty()) {
      ++counters.dropped;
      const std::string oldest = order.front();
      drop_waiting(entries[oldest]);
      release(oldest);
    }
    pump();
  }

  void forget(const std::string& uid) {
    written.erase(uid);
    const auto found = entries.find(uid);
    if (found == entries.end()) return;
    if (found->second.waiting) drop_waiting(found->second);
    found->second.forgotten = true;
    release(uid);
  }

  void enqueue(const std::string& uid, PodEntry& entry, std::list<std::string>::iterator before) {
    entry.place = order.insert(before, uid);
    entry.queued = true;
  }

  void drop_waiting(PodEntry& entry) {
    entry.waiting.reset();
    --waiting;
    if (std::exchange(entry.queued, false)) order.erase(entry.place);
  }

  // Removes a entry that is no longer needed.
  void release(const std::string& uid) {
    const auto found = entries.find(uid);
    if (found != entries.end() && !found->second.waiting && !found->second.flying)
      entries.erase(found);
  }

  void pump() {
    while (!pausing && in_flight < options.in_flight_max && !order.empty()) {
      const std::string uid = order.front();
      PodEntry& entry = entries[uid];
      Waiting next = std::move(*entry.waiting);
      drop_waiting(entry);
      send(uid, entry, std::move(next));
    }
  }

  void send(const std::string& uid, PodEntry& entry, Waiting next) {
    ++in_flight;
    entry.flying = print_of(next.ask);
    entry.forgotten = false;
    const ConditionRequest& ask = next.ask;
    const bool was_false = ask.was_false || written.find(uid) != nullptr;
    codec::UnschedulableRequest patch;
    patch.uid = uid;
    patch.reason = ask.reason;
    patch.message = ask.message;
    patch.unix_seconds = was_false ? 0 : unix_seconds(options.wall_clock());
    ApiCall call;
    call.method = "PATCH";
    call.target = core_path(ask.ns, "pods", ask.name) + "/status";
    call.content_type = kStrategicPatch;
    call.body = codec::unschedulable_patch(patch);
    client.call(std::move(call), options.call_deadline,
                [weak = weak_from_this(), sent = std::move(next)](const auto& reply) {
                  if (const auto self = weak.lock()) self->replied(sent, reply);
                });
  }

  void replied(const Waiting& sent, const CallResult& reply) {
    --in_flight;
    const std::string& uid = sent.ask.uid;
    PodEntry& entry = entries[uid];
    const bool forgotten = entry.forgotten;
    const Print print = entry.flying.value_or(Print{});
    entry.flying.reset();
    if (succeeded(reply)) {
      ++counters.written;
      backoff.reset();
      if (!forgotten) written.put(uid, print);
    } else {
      failed(sent, entry, reply);
    }
    if (entry.waiting && !entry.queued) enqueue(uid, entry, order.end());
    release(uid);
    pump();
  }

  void failed(const Waiting& sent, PodEntry& entry, const CallResult& reply) {
    const std::string what =
        fmt::format("write the condition of pod {}/{}", sent.ask.ns, sent.ask.name);
    if (reply && (reply->status == 404 || reply->status == 409)) {
      ++counters.ignored;
      return;
    }
    counters.last_error = explain(what, reply);
    if (!worth_repeating(reply)) {
      ++counters.failed;
      return;
    }
    if (!pausing) {
      pausing = true;
      timer.start(backoff.next(), [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        self->pausing = false;
        self->pump();
      });
    }
    if (entry.waiting || entry.forgotten) return;  // a newer one replaced it
    if (sent.attempts + 1 >= options.attempts_max) {
      ++counters.failed;
      return;
    }
    entry.waiting = Waiting{sent.ask, sent.attempts + 1};
    ++waiting;
    enqueue(sent.ask.uid, entry, order.begin());
  }

  ApiClient& client;
  const ConditionWriterOptions options;
  std::unordered_map<std::string, PodEntry> entries;  // by uid
  std::list<std::string> order;  // uids of entries that wait and are not on their way
  base::LruMap<Print> written;
  JitteredBackoff backoff;
  net::Timer timer;
  bool pausing = false;
  std::size_t in_flight = 0;
  std::size_t waiting = 0;
  ConditionCounters counters;
};

ConditionWriter::ConditionWriter(ApiClient& client, ConditionWriterOptions options)
    : impl_(std::make_shared<Impl>(client, std::move(options))) {}
ConditionWriter::~ConditionWriter() = default;

void ConditionWriter::write(ConditionRequest ask) { impl_->write(std::move(ask)); }
void ConditionWriter::forget(std::string_view uid) { impl_->forget(std::string(uid)); }

ConditionCounters ConditionWriter::counters() const {
  ConditionCounters counters = impl_->counters;
  counters.in_flight = impl_->in_flight;
  counters.waiting = impl_->waiting;
  return counters;
}

}  // namespace stowage::kube
