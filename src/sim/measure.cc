#include "sim/measure.h"

#include <algorithm>

namespace stowage::sim {

GpuMeasure::GpuMeasure(const std::vector<TraceNode>& nodes) {
  std::int64_t known = 0;
  std::int64_t memory_mib = 0;
  for (const TraceNode& node : nodes) {
    cards_ += node.gpus;
    if (node.gpu_memory_mib == 0) continue;
    known += node.gpus;
    memory_mib += std::int64_t{node.gpus} * node.gpu_memory_mib;
  }
  if (known > 0) mean_memory_mib_ = memory_mib / known;
}

std::int64_t GpuMeasure::demand(const TracePod& pod) const {
  std::int64_t share = std::int64_t{pod.gpu_milli} * (kMicroPerCard / core::kMilliPerCard);
  if (mean_memory_mib_ > 0) {
    share = std::max(share, pod.gpu_memory_mib * kMicroPerCard / mean_memory_mib_);
  }
  return pod.num_gpu * std::min(share, kMicroPerCard);
}

}  // namespace stowage::sim
