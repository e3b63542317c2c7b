// Writes why a pod waits into its condition PodScheduled=False, where people and autoscalers look.
// Newest wins: at most one call per pod is under way, and what a newer ask replaced is never sent.
// Nothing is written that was written before.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kube/api_client.h"
#include "kube/clock.h"

namespace stowage::kube {

struct ConditionAsk {
  std::string ns;
  std::string name;
  std::string uid;
  std::string reason = "Unschedulable";  // autoscalers act on this one (docs/contract.md)
  std::string message;
  // The pod has PodScheduled=False already: the time of the transition is then left as it is.
  bool was_false = false;
};

struct ConditionWriterOptions {
  std::size_t in_flight_max = 16;
  std::size_t waiting_max = 20'000;     // pods; beyond: the longest waiting is dropped
  std::size_t remembered_max = 50'000;  // what was written last, per pod
  net::Duration call_deadline = std::chrono::seconds{30};
  net::Duration pause_min = std::chrono::seconds{1};  // of the whole writer, after a failure
  net::Duration pause_max = std::chrono::seconds{30};
  std::uint32_t attempts_max = 5;  // per ask
  std::uint64_t seed = 1;
  WallClock wall_clock = system_wall_clock();
};

struct ConditionCounters {
  std::uint64_t asked = 0;
  std::uint64_t written = 0;
  std::uint64_t unchanged = 0;  // asks that said what was written already
  std::uint64_t replaced = 0;   // asks that a newer one overtook
  std::uint64_t dropped = 0;    // by the full queue
  std::uint64_t ignored = 0;    // 404, 409: the pod has moved on
  std::uint64_t failed = 0;     // given up
  std::size_t in_flight = 0;
  std::size_t waiting = 0;
  std::string last_error;
};

class ConditionWriter {
 public:
  explicit ConditionWriter(ApiClient& client, ConditionWriterOptions options = {});
  ~ConditionWriter();
  ConditionWriter(const ConditionWriter&) = delete;
  ConditionWriter& operator=(const ConditionWriter&) = delete;

  void write(ConditionAsk ask);
  // The pod is reserved, bound or gone: what waits for it is not sent, what was written is
  // forgotten.
  void forget(std::string_view uid);

  [[nodiscard]] ConditionCounters counters() const;

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

}  // namespace stowage::kube
