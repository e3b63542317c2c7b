// The metrics of the results, computed by hand on tiny examples.
#include <gtest/gtest.h>

#include "sim/curve.h"
#include "sim/measure.h"
#include "sim/typical.h"

namespace stowage::sim {
namespace {

TracePod pod(std::int32_t num_gpu, std::int32_t milli, std::int32_t memory_mib = 0) {
  TracePod p;
  p.num_gpu = num_gpu;
  p.gpu_milli = milli;
  p.gpu_memory_mib = memory_mib;
  return p;
}

TEST(Curve, AveragesTheEventsThatRoundToAPercent) {
  AllocationCurve curve(1000);
  curve.add(94, 90);     // 9.4 % -> 9
  curve.add(95, 90);     // 9.5 % -> 10
  curve.add(100, 95);    // 10 % -> 10
  curve.add(104, 100);   // 10.4 % -> 10
  curve.add(1300, 950);  // 130 %
  EXPECT_DOUBLE_EQ(*curve.at(9), 9.0);
  EXPECT_DOUBLE_EQ(*curve.at(10), 9.5);
  EXPECT_DOUBLE_EQ(*curve.at(130), 95.0);
  EXPECT_EQ(curve.at(11), std::nullopt);
  EXPECT_EQ(curve.at(131), std::nullopt);
  EXPECT_EQ(curve.at(-1), std::nullopt);
  EXPECT_EQ(curve.last(), 130);
}

TEST(Curve, ForgetsWhatIsBeyondAllUse) {
  AllocationCurve curve(1);
  curve.add(1'000'000, 1);
  EXPECT_EQ(curve.last(), -1);
}

TEST(Measure, CountsComputeWhereThereIsNoMemory) {
  const GpuMeasure measure({{.name = "a", .gpus = 2}, {.name = "b", .gpus = 1}});
  EXPECT_EQ(measure.cards(), 3);
  EXPECT_EQ(measure.capacity(), 3'000'000);
  EXPECT_EQ(measure.demand(pod(0, 0)), 0);
  EXPECT_EQ(measure.demand(pod(1, 460)), 460'000);
  EXPECT_EQ(measure.demand(pod(8, 1000)), 8'000'000);
}

TEST(Measure, CountsTheDominantShareWithMemory) {
  const GpuMeasure measure({{.name = "a", .gpus = 1, .gpu_memory_mib = 32000}});
  EXPECT_EQ(measure.demand(pod(1, 500, 8000)), 500'000);     // memory is 1/4
  EXPECT_EQ(measure.demand(pod(1, 500, 24000)), 750'000);    // memory is 3/4
  EXPECT_EQ(measure.demand(pod(1, 0, 16000)), 500'000);      // memory only
  EXPECT_EQ(measure.demand(pod(2, 100, 64000)), 2'000'000);  // at most the card
  EXPECT_EQ(measure.demand(pod(1, 1000, 0)), 1'000'000);
}

TEST(Typical, TakesTheMostFrequentKindsUpToNinetyFivePercent) {
  std::vector<TracePod> pods;
  const auto add = [&](int count, std::int64_t cpu, std::int32_t milli, const char* spec) {
    TracePod p = pod(milli == 0 ? 0 : 1, milli);
    p.cpu_milli = cpu;
    p.gpu_spec = spec;
    for (int i = 0; i < count; ++i) {
      p.memory_mib = i;  // is ignored
      pods.push_back(p);
    }
  };
  add(40, 4000, 500, "");
  add(30, 8000, 0, "");
  add(10, 2000, 300, "T4|P100");
  add(10, 2000, 700, "");  // equally frequent, but the larger key
  add(5, 1000, 100, "");   // reaches 95 of 100
  add(5, 900, 100, "");
  const auto typical = typical_pods(pods);
  ASSERT_EQ(typical.size(), 5U);
  EXPECT_EQ(typical[0].cpu_milli, 4000);
  EXPECT_EQ(typical[0].milli, 500);
  EXPECT_EQ(typical[0].cards, 1);
  EXPECT_DOUBLE_EQ(typical[0].frequency, 40.0 / 95);
  EXPECT_EQ(typical[1].cards, 0);
  EXPECT_EQ(typical[2].milli, 700);
  EXPECT_EQ(typical[3].milli, 300);
  EXPECT_EQ(typical[3].models_any, (std::vector<std::string>{"T4", "P100"}));
  EXPECT_EQ(typical[4].cpu_milli, 1000);
  double sum = 0;
  for (const auto& kind : typical) sum += kind.frequency;
  EXPECT_NEAR(sum, 1, 1e-12);
}

}  // namespace
}  // namespace stowage::sim
