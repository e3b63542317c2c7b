// Writes why a pod waits into its condition PodScheduled=False, for users and autoscalers. The
// newest value wins: at most one call per pod is under way, and a value that was replaced is never
// sent. A value that was already written is not written again.
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

struct ConditionRequest {
  std::string ns;
  std::string name;
  std::string uid;
  std::string reason = "Unschedulable";  // autoscalers act on this one (docs/contract.md)
  std::string message;
  // The pod already has PodScheduled=False: the transition time then stays.
  bool was_false = false;
};

struct ConditionWriterOptions {
  std::size_t in_flight_max = 16;
  std::size_t waiting_max = 20'000;     // pods; beyond that the one waiting longest is dropped
  std::size_t remembered_max = 50'000;  // number of pods whose last value is remembered
  net::Duration call_deadline = std::chrono::seconds{30};
  net::Duration pause_min = std::chrono::seconds{1};  // for the whole writer, after a failure
  net::Duration pause_max = std::chrono::seconds{30};
  std::uint32_t attempts_max = 5;  // per value
  std::uint64_t seed = 1;
  WallClock wall_clock = system_wall_clock();
};

struct ConditionCounters {
  std::uint64_t asked = 0;
  std::uint64_t written = 0;
  std::uint64_t unchanged = 0;  // values that equal the one written before
  std::uint64_t replaced = 0;   // values that a newer one replaced
  std::uint64_t dropped = 0;    // by the full queue
  std::uint64_t ignored = 0;    // 404, 409: the pod has changed
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

  void write(ConditionRequest ask);
  // The pod is reserved, bound or deleted: a waiting value is not sent, and the written one is
  // forgotten.
  void forget(std::string_view uid);

  [[nodiscard]] ConditionCounters counters() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace stowage::kube
