// The target workload of the fgd policy, computed from a trace as its authors do.
#pragma once

#include <vector>

#include "core/policy/options.h"
#include "sim/trace.h"

namespace stowage::sim {

// Pods are of one kind if they have equal CPU, share per card, number of cards and gpu_spec (as
// text). Memory is ignored, and pods without GPU are kinds too. The list is sorted by frequency
// (ties: larger key first, by CPU, share, cards, spec) and ends with the kind that reaches 95 % of
// all pods. Frequencies are relative to the pods of the list.
[[nodiscard]] std::vector<core::TypicalPod> typical_pods(const std::vector<TracePod>& pods);

}  // namespace stowage::sim
