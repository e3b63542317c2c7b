// Clusters and arrivals made from a seed. Everything here gives the same result on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/rng.h"
#include "sim/trace.h"

namespace stowage::sim {

inline constexpr std::int64_t kSyntheticNodesMax = 1'000'000;

// A cluster of that many nodes and pods that ask for about 98 % of its GPUs, both in the
// proportions of the openb trace (a production cluster, published in 2023): classes of nodes, sizes
// of shares, whole cards, several cards, pods without GPU, and the CPU and memory of each.
// Pods are drawn with the seed; a pod that no node of the cluster could hold is drawn again.
// Requires: 0 < nodes <= kSyntheticNodesMax.
[[nodiscard]] std::vector<TraceNode> synthetic_nodes(std::int64_t count);
[[nodiscard]] Trace synthetic_trace(std::int64_t nodes, std::uint64_t seed);

// A random order of 0 .. count-1.
[[nodiscard]] std::vector<std::uint32_t> permutation(std::size_t count, base::Rng& rng);

// The published way to fill a cluster beyond its capacity: the pods of the trace in random order,
// then further pods drawn uniformly from it until the next one would bring the GPU demand above
// `ratio` times the capacity. Where the trace asks for more than that already, random pods are
// taken out. Returns rows of trace.pods in order of arrival.
// Fails if no node has a GPU, if no pod asks for one, or if it takes more than 20 million pods.
[[nodiscard]] Result<std::vector<std::uint32_t>> inflate(const Trace& trace, double ratio,
                                                         std::uint64_t seed);

}  // namespace stowage::sim
