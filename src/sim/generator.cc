#include "sim/generator.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "sim/measure.h"

namespace stowage::sim {
namespace {

constexpr std::size_t kArrivalsMax = 20'000'000;
constexpr double kSyntheticLoad = 0.98;

struct NodeClass {
  std::int64_t count;
  const char* model;
  std::int32_t gpus;
  std::int64_t cpu_milli;
  std::int64_t memory_mib;
};

// The GPU nodes of the openb trace: 1213 nodes with 6212 GPUs.
constexpr std::array<NodeClass, 15> kNodeClasses{{
    {549, "G2", 8, 96'000, 393'216},
    {387, "T4", 2, 104'000, 524'288},
    {107, "P100", 2, 16'000, 122'880},
    {39, "G3", 8, 128'000, 786'432},
    {28, "V100M16", 4, 32'000, 131'072},
    {22, "P100", 2, 64'000, 262'144},
    {21, "V100M32", 8, 96'000, 786'432},
    {19, "V100M16", 1, 8'000, 32'768},
    {17, "T4", 4, 96'000, 393'216},
    {9, "V100M32", 4, 48'000, 376'832},
    {7, "V100M16", 8, 64'000, 262'144},
    {3, "P100", 1, 8'000, 61'440},
    {2, "P100", 2, 8'000, 61'440},
    {2, "A10", 1, 128'000, 1'048'576},
    {1, "V100M16", 8, 82'000, 344'064},
}};

struct PodClass {
  std::uint32_t count;
  std::int32_t num_gpu;
  std::int32_t gpu_milli;
  std::int64_t cpu_milli;
  std::int64_t memory_mib;
};

// The 8152 pods of the openb trace: kinds and share sizes with exact counts; rare CPU and memory
// requests are merged into the nearest frequent ones.
constexpr std::array<PodClass, 67> kPodClasses{{
    // no GPU: 1088
    {372, 0, 0, 12'500, 57'344},
    {290, 0, 0, 32'000, 49'152},
    {180, 0, 0, 8'000, 30'517},
    {126, 0, 0, 15'400, 51'200},
    {98, 0, 0, 16'500, 51'200},
    {12, 0, 0, 11'400, 57'344},
    {10, 0, 0, 16'000, 31'250},
    // a share of one card: 3078
    {1'047, 1, 810, 3'152, 5'600},
    {31, 1, 810, 4'152, 10'600},
    {388, 1, 470, 11'908, 47'104},
    {362, 1, 470, 8'000, 30'517},
    {111, 1, 320, 4'000, 22'888},
    {78, 1, 320, 4'000, 15'258},
    {74, 1, 320, 8'000, 30'517},
    {43, 1, 320, 4'000, 30'517},
    {22, 1, 320, 1'000, 2'048},
    {237, 1, 650, 11'908, 47'104},
    {16, 1, 650, 8'000, 30'517},
    {84, 1, 230, 4'000, 30'517},
    {38, 1, 230, 4'000, 22'888},
    {18, 1, 230, 8'000, 30'517},
    {110, 1, 460, 6'000, 12'288},
    {18, 1, 460, 12'000, 18'432},
    {75, 1, 590, 3'152, 5'600},
    {54, 1, 160, 4'000, 15'258},
    {20, 1, 160, 6'000, 22'888},
    {72, 1, 550, 4'152, 10'600},
    {43, 1, 220, 4'000, 15'258},
    {19, 1, 220, 8'000, 30'517},
    {47, 1, 370, 4'152, 10'600},
    {18, 1, 110, 4'000, 15'258},
    {6, 1, 110, 6'000, 22'888},
    {19, 1, 480, 4'000, 22'888},
    {7, 1, 50, 6'000, 22'888},
    {7, 1, 330, 4'000, 22'888},
    {6, 1, 350, 4'000, 22'888},
    {4, 1, 270, 4'152, 10'600},
    {2, 1, 440, 8'000, 30'517},
    {1, 1, 140, 1'000, 2'048},
    {1, 1, 290, 1'000, 2'048},
    // one whole card: 3911
    {880, 1, 1000, 11'300, 49'152},
    {540, 1, 1000, 11'400, 48'128},
    {470, 1, 1000, 3'152, 5'600},
    {270, 1, 1000, 12'000, 24'576},
    {255, 1, 1000, 18'708, 64'512},
    {205, 1, 1000, 9'810, 41'560},
    {165, 1, 1000, 11'908, 47'104},
    {165, 1, 1000, 8'000, 16'384},
    {165, 1, 1000, 4'000, 24'576},
    {160, 1, 1000, 15'700, 58'368},
    {150, 1, 1000, 16'000, 32'768},
    {120, 1, 1000, 11'400, 77'824},
    {100, 1, 1000, 14'200, 58'368},
    {84, 1, 1000, 24'200, 93'184},
    {60, 1, 1000, 8'200, 33'792},
    {60, 1, 1000, 15'200, 80'896},
    {32, 1, 1000, 2'000, 8'192},
    {30, 1, 1000, 16'400, 125'952},
    // several cards: 16 + 15 + 44
    {8, 2, 1000, 16'200, 66'560},
    {5, 2, 1000, 30'200, 160'768},
    {3, 2, 1000, 6'000, 65'536},
    {12, 4, 1000, 32'200, 132'096},
    {3, 4, 1000, 60'200, 320'512},
    {21, 8, 1000, 64'200, 263'168},
    {18, 8, 1000, 88'000, 327'680},
    {3, 8, 1000, 120'000, 737'280},
    {2, 8, 1000, 120'200, 640'000},
}};

// Splits `total` in proportion to the counts of the classes. The rounding remainder goes to the
// classes that lost most by rounding.
std::vector<std::int64_t> nodes_per_class(std::int64_t total) {
  std::int64_t sum = 0;
  for (const NodeClass& c : kNodeClasses) sum += c.count;
  std::vector<std::int64_t> parts;
  std::vector<std::size_t> order;
  std::int64_t left = total;
  for (const NodeClass& c : kNodeClasses) {
    order.push_back(parts.size());
    parts.push_back(total * c.count / sum);
    left -= parts.back();
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return total * kNodeClasses[a].count % sum > total * kNodeClasses[b].count % sum;
  });
  for (std::size_t i = 0; left > 0; ++i, --left) ++parts[order[i]];
  return parts;
}

bool fits_somewhere(const PodClass& pod, std::span<const std::int64_t> nodes_of_class) {
  for (std::size_t c = 0; c < kNodeClasses.size(); ++c) {
    const NodeClass& node = kNodeClasses[c];
    if (nodes_of_class[c] > 0 && pod.num_gpu <= node.gpus && pod.cpu_milli <= node.cpu_milli &&
        pod.memory_mib <= node.memory_mib) {
      return true;
    }
  }
  return false;
}

TracePod to_pod(const PodClass& c) {
  TracePod pod;
  pod.cpu_milli = c.cpu_milli;
  pod.memory_mib = c.memory_mib;
  pod.num_gpu = c.num_gpu;
  pod.gpu_milli = c.gpu_milli;
  return pod;
}

}  // namespace

std::vector<TraceNode> synthetic_nodes(std::int64_t count) {
  STOWAGE_CHECK(count > 0 && count <= kSyntheticNodesMax);
  std::vector<TraceNode> nodes;
  nodes.reserve(static_cast<std::size_t>(count));
  const auto parts = nodes_per_class(count);
  for (std::size_t c = 0; c < kNodeClasses.size(); ++c) {
    for (std::int64_t i = 0; i < parts[c]; ++i) {
      TraceNode node;
      node.name = fmt::format("node-{:06}", nodes.size());
      node.cpu_milli = kNodeClasses[c].cpu_milli;
      node.memory_mib = kNodeClasses[c].memory_mib;
      node.gpus = kNodeClasses[c].gpus;
      node.model = kNodeClasses[c].model;
      nodes.push_back(std::move(node));
    }
  }
  return nodes;
}

Trace synthetic_trace(std::int64_t nodes, std::uint64_t seed) {
  Trace trace;
  trace.nodes = synthetic_nodes(nodes);
  const auto parts = nodes_per_class(nodes);
  std::vector<PodClass> classes;
  std::vector<std::uint32_t> upto;  // cumulative counts, for weighted draws
  for (const PodClass& c : kPodClasses) {
    if (!fits_somewhere(c, parts)) continue;
    classes.push_back(c);
    upto.push_back((upto.empty() ? 0 : upto.back()) + c.count);
  }
  const GpuMeasure measure(trace.nodes);
  const auto wanted =
      static_cast<std::int64_t>(kSyntheticLoad * static_cast<double>(measure.capacity()));
  base::Rng rng(seed);
  for (std::int64_t demand = 0; demand < wanted;) {
    const auto drawn = static_cast<std::uint32_t>(rng.below(upto.back()));
    const auto at = std::upper_bound(upto.begin(), upto.end(), drawn) - upto.begin();
    TracePod pod = to_pod(classes[static_cast<std::size_t>(at)]);
    // In a small cluster a single pod may request a large part of it.
    if (demand > 0 && demand + measure.demand(pod) > measure.capacity()) break;
    demand += measure.demand(pod);
    pod.name = fmt::format("pod-{:07}", trace.pods.size());
    trace.pods.push_back(std::move(pod));
  }
  return trace;
}

std::vector<std::uint32_t> permutation(std::size_t count, base::Rng& rng) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  return order;
}

Result<std::vector<std::uint32_t>> inflate(const Trace& trace, double ratio, std::uint64_t seed) {
  const GpuMeasure measure(trace.nodes);
  std::vector<std::int64_t> demand_of;
  std::int64_t demand = 0;
  for (const TracePod& pod : trace.pods) {
    demand_of.push_back(measure.demand(pod));
    demand += demand_of.back();
  }
  if (measure.capacity() == 0) return fail("no node has a GPU: there is nothing to measure");
  if (demand == 0) return fail("no pod asks for a GPU: there is nothing to inflate");
  const auto limit = static_cast<std::int64_t>(ratio * static_cast<double>(measure.capacity()));
  base::Rng rng(seed);
  auto arrivals = permutation(trace.pods.size(), rng);
  while (demand > limit && !arrivals.empty()) {
    // The order is random, so moving the last pod into the gap keeps it random.
    std::swap(arrivals[rng.below(arrivals.size())], arrivals.back());
    demand -= demand_of[arrivals.back()];
    arrivals.pop_back();
  }
  if (arrivals.size() < trace.pods.size()) return arrivals;
  for (;;) {
    const auto row = static_cast<std::uint32_t>(rng.below(trace.pods.size()));
    if (demand + demand_of[row] > limit) return arrivals;
    if (arrivals.size() == kArrivalsMax) {
      return fail(fmt::format("to reach {} times the cluster's GPUs takes more than {} pods", ratio,
                              kArrivalsMax));
    }
    demand += demand_of[row];
    arrivals.push_back(row);
  }
}

}  // namespace stowage::sim
