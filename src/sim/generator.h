// Clusters and arrivals generated from a seed. All results are the same on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/rng.h"
#include "sim/trace.h"

namespace stowage::sim {

inline constexpr std::int64_t kSyntheticNodesMax = 1'000'000;

// A cluster with this many nodes, and pods that request about 98 % of its GPUs, both in the
// proportions of the openb trace (a production cluster, published in 2023): classes of nodes, share
// sizes, whole cards, several cards, pods without GPU, and the CPU and memory of each. Pods are
// drawn with the seed; a pod that no node of the cluster could hold is drawn again. Requires: 0 <
// nodes <= kSyntheticNodesMax.
[[nodiscard]] std::vector<TraceNode> synthetic_nodes(std::int64_t count);
[[nodiscard]] Trace synthetic_trace(std::int64_t nodes, std::uint64_t seed);

// A random order of 0 .. count-1.
[[nodiscard]] std::vector<std::uint32_t> permutation(std::size_t count, base::Rng& rng);

// The published way to fill a cluster beyond its capacity: the pods of the trace in random order,
// followed by pods drawn uniformly from it, until the next one would bring the GPU demand above
// `ratio` times the capacity. If the trace already exceeds that, random pods are removed. Returns
// rows of trace.pods in order of arrival. Fails if no node has a GPU, if no pod requests one, or if
// it takes more than 20 million pods.
[[nodiscard]] Result<std::vector<std::uint32_t>> inflate(const Trace& trace, double ratio,
                                                         std::uint64_t seed);

}  // namespace stowage::sim
