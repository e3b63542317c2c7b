// The target workload of the fgd policy, made from a trace as its authors make it.
#pragma once

#include <vector>

#include "core/policy/options.h"
#include "sim/trace.h"

namespace stowage::sim {

// Pods are alike if they agree in CPU, share per card, number of cards and gpu_spec (as text);
// memory does not count, and pods without GPU are kinds like any other. The list has the most
// frequent kinds first (of equally frequent ones the larger key: CPU, share, cards, spec) and ends
// with the one that brings it to 95 % of all pods. Frequencies are relative to the pods of the
// list.
[[nodiscard]] std::vector<core::TypicalPod> typical_pods(const std::vector<TracePod>& pods);

}  // namespace stowage::sim
