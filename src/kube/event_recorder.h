// Events for users (kubectl describe): events.k8s.io/v1. They never delay a bind: events wait while
// binds are under way. An event of type normal is always written in the end, and repeated if the
// server does not answer. Warnings come in large numbers and are limited by rate. Surplus events
// are dropped and counted.
//
// The same event about the same object within `series_gap` becomes a series: one event whose count
// is patched from time to time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kube/api_client.h"
#include "kube/clock.h"
#include "kube/event_reason.h"

namespace stowage::kube {

enum class EventType : std::uint8_t { normal, warning };

struct EventObject {
  std::string kind = "Pod";
  std::string ns;  // empty for a node: its events are kept in the namespace "default"
  std::string name;
  std::string uid;
  friend bool operator==(const EventObject&, const EventObject&) = default;
};

struct EventRequest {
  EventObject regarding;
  EventType type = EventType::normal;
  EventReason reason = EventReason::scheduled;
  std::string action;  // "Binding", "Scheduling"
  std::string note;    // cut at 1024 bytes
  friend bool operator==(const EventRequest&, const EventRequest&) = default;
};

// One field for each limit and time.
struct EventRecorderOptions {
  std::string controller = "stowage";  // reportingController
  std::string instance;    // reportingInstance, usually the host's name; may not be empty
  double per_second = 50;  // new warnings and patches together
  double burst = 200;
  std::size_t waiting_max = 50'000;  // events that wait; beyond that the oldest is dropped
  std::size_t calls_max = 32;        // passed to the client at a time
  std::uint32_t attempts_max = 5;
  net::Duration rest_min = std::chrono::seconds{1};  // after the server did not answer
  net::Duration rest_max = std::chrono::seconds{30};
  double per_object_burst = 25;  // different events per object; then one per
  net::Duration per_object_every = std::chrono::seconds{300};
  net::Duration series_gap = std::chrono::minutes{6};
  net::Duration series_patch_every = std::chrono::seconds{60};
  std::size_t series_max = 4096;  // remembered; the least recently used is forgotten
  net::Duration call_deadline = std::chrono::seconds{30};
  WallClock wall_clock = system_wall_clock();
};

struct EventCounters {
  std::uint64_t asked = 0;
  std::uint64_t created = 0;
  std::uint64_t patched = 0;
  std::uint64_t merged = 0;   // repetitions that were added to a count
  std::uint64_t dropped = 0;  // by the limits here
  std::uint64_t shed = 0;     // by the full lane of the client
  std::uint64_t retried = 0;
  std::uint64_t failed = 0;  // refused by the server, or no reply
  std::size_t series = 0;    // remembered now
  std::size_t waiting = 0;   // not yet written
  std::string last_error;
};

class EventRecorder {
 public:
  EventRecorder(ApiClient& client, EventRecorderOptions options);
  ~EventRecorder();
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  void record(EventRequest ask);

  [[nodiscard]] EventCounters counters() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace stowage::kube
