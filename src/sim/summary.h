// The combined results of the runs of one policy (at one load): means over seeds.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sim/experiment.h"

namespace stowage::sim {

// The arrived percentages at which results are reported.
inline constexpr std::array<int, 5> kPoints{95, 100, 110, 120, 130};

// One field for each column of the results.
struct Summary {
  std::string policy;
  std::optional<double> load;
  std::size_t runs = 0;
  double arrived = 0;
  double placed = 0;
  std::array<double, kPodKinds> refused{};
  double wall_seconds = 0;

  // For arrivals without departures: allocated percentage by arrived percentage.
  std::vector<std::optional<double>> curve;
  [[nodiscard]] std::optional<double> at(int percent) const;

  // For churn.
  std::optional<double> allocated_percent_mean;
  std::optional<double> accepted_gpu_percent;
  std::optional<double> accepted_multi_percent;
  std::optional<double> accepted_percent;
  double queue_length = 0;
  double wait = 0;
  double wait_p99 = 0;
  double wait_multi = 0;
  double wait_multi_p99 = 0;
};

// One per policy and load, in the order of the runs.
[[nodiscard]] std::vector<Summary> summarise(const Experiment& experiment);

}  // namespace stowage::sim
