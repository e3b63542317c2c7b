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
struct Slot {
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
    Slot& slot = slots[uid];
    if (slot.waiting) {
      ++counters.replaced;
      drop_waiting(slot);
    }
    const Print* last = slot.flying ? &*slot.flying : written.find(uid);
    if (last != nullptr && *last == print) {
      ++counters.unchanged;
      slot.forgotten = false;
      release(uid);
      return;
    }
    slot.waiting = Waiting{std::move(ask)};
    ++waiting;
    if (!slot.flying) enqueue(uid, slot, order.end());
    if (waiting > options.waiting_max && !order.empty()) {
      ++counters.dropped;
      const std::string oldest = order.front();
      drop_waiting(slots[oldest]);
      release(oldest);
    }
    pump();
  }

  void forget(const std::string& uid) {
    written.erase(uid);
    const auto found = slots.find(uid);
    if (found == slots.end()) return;
    if (found->second.waiting) drop_waiting(found->second);
    found->second.forgotten = true;
    release(uid);
  }

  void enqueue(const std::string& uid, Slot& slot, std::list<std::string>::iterator before) {
    slot.place = order.insert(before, uid);
    slot.queued = true;
  }

  void drop_waiting(Slot& slot) {
    slot.waiting.reset();
    --waiting;
    if (std::exchange(slot.queued, false)) order.erase(slot.place);
  }

  // Removes a slot that is no longer needed.
  void release(const std::string& uid) {
    const auto found = slots.find(uid);
    if (found != slots.end() && !found->second.waiting && !found->second.flying) slots.erase(found);
  }

  void pump() {
    while (!pausing && in_flight < options.in_flight_max && !order.empty()) {
      const std::string uid = order.front();
      Slot& slot = slots[uid];
      Waiting next = std::move(*slot.waiting);
      drop_waiting(slot);
      send(uid, slot, std::move(next));
    }
  }

  void send(const std::string& uid, Slot& slot, Waiting next) {
    ++in_flight;
    slot.flying = print_of(next.ask);
    slot.forgotten = false;
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
    Slot& slot = slots[uid];
    const bool forgotten = slot.forgotten;
    const Print print = slot.flying.value_or(Print{});
    slot.flying.reset();
    if (succeeded(reply)) {
      ++counters.written;
      backoff.reset();
      if (!forgotten) written.put(uid, print);
    } else {
      failed(sent, slot, reply);
    }
    if (slot.waiting && !slot.queued) enqueue(uid, slot, order.end());
    release(uid);
    pump();
  }

  void failed(const Waiting& sent, Slot& slot, const CallResult& reply) {
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
    if (slot.waiting || slot.forgotten) return;  // a newer one replaced it
    if (sent.attempts + 1 >= options.attempts_max) {
      ++counters.failed;
      return;
    }
    slot.waiting = Waiting{sent.ask, sent.attempts + 1};
    ++waiting;
    enqueue(sent.ask.uid, slot, order.begin());
  }

  ApiClient& client;
  const ConditionWriterOptions options;
  std::unordered_map<std::string, Slot> slots;  // by uid
  std::list<std::string> order;                 // uids of slots that wait and are not on their way
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
