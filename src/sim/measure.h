// GPU demand of a pod and GPU capacity of a cluster, in one unit: millionths of a card.
//
// A pod counts with its dominant share of each card: the larger of its compute and memory
// fractions. If the trace has no memory, that is its gpu_milli.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/trace.h"

namespace stowage::sim {

inline constexpr std::int64_t kMicroPerCard = 1'000'000;

class GpuMeasure {
 public:
  explicit GpuMeasure(const std::vector<TraceNode>& nodes);

  [[nodiscard]] std::int64_t cards() const { return cards_; }
  [[nodiscard]] std::int64_t capacity() const { return cards_ * kMicroPerCard; }

  // At most one card per requested card. If cards differ in memory, the mean card is used, so that
  // the demand does not depend on the placement.
  [[nodiscard]] std::int64_t demand(const TracePod& pod) const;

 private:
  std::int64_t cards_ = 0;
  std::int64_t mean_memory_mib_ = 0;  // of the cards with known memory; 0: none
};

}  // namespace stowage::sim
