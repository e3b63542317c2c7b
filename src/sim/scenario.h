// The input of one experiment, the same for every policy: the cluster, the node order, the pods.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/policy/options.h"
#include "sim/measure.h"
#include "sim/trace.h"

namespace stowage::sim {

struct Scenario {
  std::shared_ptr<const Trace> trace;
  GpuMeasure measure;
  std::vector<std::uint32_t> ranks;       // by node; the lower one wins a tie
  std::vector<std::uint32_t> arrivals;    // rows of trace->pods; not used with churn
  std::vector<core::TypicalPod> typical;  // the target workload of fgd
};

// The progress of one run: written by the run, read by the progress bar.
struct Progress {
  std::atomic<std::uint64_t> pods_done = 0;
  std::atomic<std::uint64_t> pods_total = 0;  // 0: unknown yet
};

}  // namespace stowage::sim
