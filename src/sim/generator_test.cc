#include "sim/generator.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "sim/measure.h"
#include "sim/memory_share.h"

namespace stowage::sim {
namespace {

double demand_of(const Trace& trace, const std::vector<std::uint32_t>& rows) {
  const GpuMeasure measure(trace.nodes);
  double sum = 0;
  for (const std::uint32_t row : rows) sum += static_cast<double>(measure.demand(trace.pods[row]));
  return sum / static_cast<double>(measure.capacity());
}

TEST(Generator, TheSameSeedGivesTheSameTraceOnEveryMachine) {
  const Trace one = synthetic_trace(50, 7);
  const Trace two = synthetic_trace(50, 7);
  EXPECT_EQ(one.nodes, two.nodes);
  EXPECT_EQ(one.pods, two.pods);
  EXPECT_NE(one.pods, synthetic_trace(50, 8).pods);
  // Fixed values, to detect a change of the generator or a difference between machines.
  ASSERT_GE(one.pods.size(), 3U);
  EXPECT_EQ(one.nodes.front().model, "G2");
  EXPECT_EQ(one.pods[0].gpu_milli, 320);
  EXPECT_EQ(one.pods[1].gpu_milli, 0);
  EXPECT_EQ(one.pods[2].gpu_milli, 1000);
}

TEST(Generator, AClusterOfThePublishedSizeHasThePublishedNodes) {
  const auto nodes = synthetic_nodes(1213);
  EXPECT_EQ(nodes.size(), 1213U);
  EXPECT_EQ(GpuMeasure(nodes).cards(), 6212);
  std::map<std::string, int> cards;
  std::int64_t cpu = 0;
  for (const TraceNode& node : nodes) {
    cards[node.model] += node.gpus;
    cpu += node.cpu_milli;
  }
  EXPECT_EQ(cards["G2"], 4392);
  EXPECT_EQ(cards["T4"], 842);
  EXPECT_EQ(cards["G3"], 312);
  EXPECT_EQ(cpu, 107'018'000);
}

TEST(Generator, EveryNumberOfNodesIsExact) {
  for (const std::int64_t count : {1, 2, 3, 10, 199, 200, 1000}) {
    EXPECT_EQ(synthetic_nodes(count).size(), static_cast<std::size_t>(count));
  }
}

TEST(Generator, PodsFollowThePublishedShares) {
  const Trace trace = synthetic_trace(1213, 1);
  std::array<double, kPodKinds> share{};
  std::map<int, double> milli;
  for (const TracePod& pod : trace.pods) {
    share[static_cast<std::size_t>(kind_of(pod))] += 1.0 / static_cast<double>(trace.pods.size());
    milli[pod.gpu_milli] += 1.0 / static_cast<double>(trace.pods.size());
  }
  // Published: 1088, 3078, 3911 and 75 of 8152 pods; 1078 of them request 810 milli.
  EXPECT_NEAR(static_cast<double>(trace.pods.size()), 8152, 250);
  EXPECT_NEAR(share[0], 0.133, 0.015);
  EXPECT_NEAR(share[1], 0.378, 0.02);
  EXPECT_NEAR(share[2], 0.480, 0.02);
  EXPECT_NEAR(share[3], 0.0092, 0.004);
  EXPECT_NEAR(milli[810], 0.132, 0.015);
  EXPECT_NEAR(milli[470], 0.092, 0.012);
  const auto all = inflate(trace, 10, 1);
  ASSERT_TRUE(all);
  std::vector<std::uint32_t> rows(trace.pods.size());
  for (std::uint32_t i = 0; i < rows.size(); ++i) rows[i] = i;
  EXPECT_NEAR(demand_of(trace, rows), 0.98, 0.002);
}

TEST(Generator, EveryPodFitsSomeEmptyNode) {
  for (const std::int64_t count : {1, 2, 5, 40}) {
    const Trace trace = synthetic_trace(count, 3);
    for (const TracePod& pod : trace.pods) {
      EXPECT_TRUE(std::any_of(trace.nodes.begin(), trace.nodes.end(), [&](const TraceNode& node) {
        return pod.num_gpu <= node.gpus && pod.cpu_milli <= node.cpu_milli &&
               pod.memory_mib <= node.memory_mib;
      }));
    }
    EXPECT_GT(GpuMeasure(trace.nodes).cards(), 0);
  }
}

TEST(Inflate, FillsUpToTheRatioAndNotBeyond) {
  const Trace trace = synthetic_trace(100, 1);
  for (const double ratio : {1.1, 1.3, 2.0}) {
    const auto rows = inflate(trace, ratio, 5);
    ASSERT_TRUE(rows);
    EXPECT_LE(demand_of(trace, *rows), ratio);
    EXPECT_GT(demand_of(trace, *rows), ratio - 0.02);  // the largest pod has 8 of 508 GPUs
    // Each pod of the trace occurs at least once, in the first part.
    std::vector<std::uint32_t> first(rows->begin(),
                                     rows->begin() + static_cast<long>(trace.pods.size()));
    std::sort(first.begin(), first.end());
    for (std::uint32_t i = 0; i < first.size(); ++i) ASSERT_EQ(first[i], i);
  }
}

TEST(Inflate, TakesPodsOutWhereTheTraceAsksForMore) {
  const Trace trace = synthetic_trace(100, 1);
  const auto rows = inflate(trace, 0.5, 5);
  ASSERT_TRUE(rows);
  EXPECT_LT(rows->size(), trace.pods.size());
  EXPECT_LE(demand_of(trace, *rows), 0.5);
  EXPECT_GT(demand_of(trace, *rows), 0.48);
}

TEST(Inflate, DependsOnTheSeedAlone) {
  const Trace trace = synthetic_trace(20, 1);
  EXPECT_EQ(*inflate(trace, 1.3, 5), *inflate(trace, 1.3, 5));
  EXPECT_NE(*inflate(trace, 1.3, 5), *inflate(trace, 1.3, 6));
}

TEST(Inflate, SaysWhenThereIsNothingToInflate) {
  Trace trace;
  trace.nodes.push_back({.name = "n", .cpu_milli = 1000, .memory_mib = 1, .gpus = 0, .model = ""});
  trace.pods.push_back({.name = "p", .cpu_milli = 1, .memory_mib = 1});
  EXPECT_EQ(inflate(trace, 1.3, 1).error().message,
            "no node has a GPU: there is nothing to measure");
  trace.nodes.front().gpus = 1;
  EXPECT_EQ(inflate(trace, 1.3, 1).error().message,
            "no pod asks for a GPU: there is nothing to inflate");
}

TEST(MemoryShare, GivesSharePodsMemoryNearTheirCompute) {
  Trace trace = synthetic_trace(100, 1);
  const Trace before = trace;
  add_memory(trace, MemoryShare::follows_milli, 9);
  for (std::size_t i = 0; i < trace.pods.size(); ++i) {
    const TracePod& pod = trace.pods[i];
    EXPECT_EQ(pod.gpu_milli, before.pods[i].gpu_milli);
    if (kind_of(pod) != PodKind::share) {
      EXPECT_EQ(pod, before.pods[i]);
      continue;
    }
    EXPECT_GE(pod.gpu_memory_mib, pod.gpu_milli * 32 * 7 / 10 - 1);
    EXPECT_LE(pod.gpu_memory_mib, std::min(32000, pod.gpu_milli * 32 * 13 / 10));
  }
  for (const TraceNode& node : trace.nodes) EXPECT_EQ(node.gpu_memory_mib, 32000);
}

TEST(MemoryShare, LetsAboutThirtyPercentAskForMemoryAlone) {
  Trace trace = synthetic_trace(1000, 1);
  add_memory(trace, MemoryShare::some_memory_only, 9);
  double shares = 0;
  double memory_only = 0;
  for (const TracePod& pod : trace.pods) {
    if (kind_of(pod) != PodKind::share) continue;
    shares += 1;
    memory_only += pod.gpu_milli == 0 ? 1 : 0;
    EXPECT_GT(pod.gpu_memory_mib, 0);
  }
  EXPECT_NEAR(memory_only / shares, 0.3, 0.03);
}

}  // namespace
}  // namespace stowage::sim
