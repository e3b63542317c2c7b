// How much GPU a pod asks for and a cluster has, in one unit: millionths of a card.
//
// A pod counts with its dominant share of each card: the larger one of its part of the compute and
// its part of the memory. Without memory in the trace that is simply its gpu_milli.
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

  // At most one card for each that the pod asks for. Where cards differ in memory, a pod's part is
  // that of the mean card, so that demand does not depend on where a pod is placed.
  [[nodiscard]] std::int64_t demand(const TracePod& pod) const;

 private:
  std::int64_t cards_ = 0;
  std::int64_t mean_memory_mib_ = 0;  // of the cards whose memory is known; 0: of none
};

}  // namespace stowage::sim
