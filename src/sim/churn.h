// The experiment with departures: pods arrive at random, run for a while and leave. Time is
// measured in mean lifetimes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "core/engine/engine.h"
#include "sim/replay.h"
#include "sim/scenario.h"

namespace stowage::sim {

struct ChurnConfig {
  enum class Admission : std::uint8_t {
    loss,   // a pod that does not fit when it arrives is lost
    queue,  // it waits until it fits
  };
  double load = 1;       // GPU demand offered, as a multiple of the cluster's GPUs
  double lifetimes = 8;  // the run ends then ...
  double warmup = 3;     // ... and is measured from here on
  Admission admission = Admission::loss;
};

struct ChurnArrival {
  double time = 0;
  double life = 0;
  std::uint32_t row = 0;
  friend bool operator==(const ChurnArrival&, const ChurnArrival&) = default;
};

// Poisson arrivals until config.lifetimes. Each is a pod drawn uniformly from the trace, with an
// exponential lifetime of mean 1. The rate satisfies rate * mean GPU demand = load * capacity.
// Depends only on the trace, the load and the seed, so every policy gets the same pods. Fails if
// the trace has no GPU demand or if more than 20 million pods would arrive.
[[nodiscard]] Result<std::vector<ChurnArrival>> churn_arrivals(const Scenario& scenario,
                                                               const ChurnConfig& config,
                                                               std::uint64_t seed);

// How long pods waited, in lifetimes. A pod that still waits at the end counts with its wait so
// far.
struct WaitStats {
  std::int64_t pods = 0;
  double mean = 0;
  double p99 = 0;
};

// Averages over the time from warmup to the end, and over the pods that arrived in it.
struct ChurnResult {
  double allocated_percent_mean = 0;             // of the cluster's GPUs, over time
  std::optional<double> accepted_gpu_percent;    // of the GPU demand that arrived
  std::optional<double> accepted_multi_percent;  // of the pods that ask for several cards
  std::optional<double> accepted_percent;        // of all pods
  std::int64_t arrived = 0;
  std::int64_t placed = 0;
  KindCounts refused{};          // not placed by the end of the run
  double queue_length_mean = 0;  // with Admission::queue; 0 otherwise
  WaitStats wait;
  WaitStats wait_multi;
  core::Engine::Counters counters{};
  double wall_seconds = 0;
};

[[nodiscard]] Result<ChurnResult> churn(const Scenario& scenario,
                                        const std::vector<ChurnArrival>& arrivals,
                                        const ChurnConfig& config, core::PolicyOptions options,
                                        Progress& progress);

// Mean and 99th percentile (the smallest value that at least 99 % do not exceed).
[[nodiscard]] WaitStats wait_stats(std::vector<double> waits);

}  // namespace stowage::sim
