#include "sim/replay.h"

#include <gtest/gtest.h>

#include "sim/churn.h"
#include "sim/generator.h"

namespace stowage::sim {
namespace {

TracePod gpu_pod(std::int32_t num_gpu, std::int32_t milli) {
  TracePod pod;
  pod.name = "p";
  pod.cpu_milli = 1000;
  pod.memory_mib = 1;
  pod.num_gpu = num_gpu;
  pod.gpu_milli = milli;
  return pod;
}

Scenario scenario_of(std::vector<TraceNode> nodes, std::vector<TracePod> pods) {
  auto trace = std::make_shared<Trace>();
  trace->nodes = std::move(nodes);
  trace->pods = std::move(pods);
  Scenario scenario{.trace = trace,
                    .measure = GpuMeasure(trace->nodes),
                    .ranks = {},
                    .arrivals = {},
                    .typical = {}};
  for (std::uint32_t i = 0; i < trace->nodes.size(); ++i) scenario.ranks.push_back(i);
  for (std::uint32_t i = 0; i < trace->pods.size(); ++i) scenario.arrivals.push_back(i);
  return scenario;
}

core::PolicyOptions options_for(const char* policy) {
  core::PolicyOptions options;
  options.choice = core::parse_policy(policy).value();
  return options;
}

// One node with two cards and eight cores: 10 % of the cluster is 200 milli.
TEST(Replay, CountsByHandOnATinyTrace) {
  TracePod cpu_hog = gpu_pod(0, 0);
  cpu_hog.cpu_milli = 9000;
  const Scenario scenario =
      scenario_of({{.name = "n", .cpu_milli = 8000, .memory_mib = 100, .gpus = 2, .model = "T4"}},
                  {gpu_pod(1, 600), gpu_pod(1, 600), gpu_pod(1, 1000), gpu_pod(2, 1000),
                   gpu_pod(1, 500), gpu_pod(1, 400), cpu_hog});
  Progress progress;
  const auto result = replay(scenario, options_for("best-fit"), progress);
  ASSERT_TRUE(result);
  // placed: 600, 600, 400. refused: a whole card, two cards, 500, and more CPU than available.
  EXPECT_EQ(result->arrived, 7);
  EXPECT_EQ(result->placed, 3);
  EXPECT_EQ(result->refused, (KindCounts{1, 1, 1, 1}));
  EXPECT_EQ(progress.pods_done, 7U);
  // arrived: 30, 60, 110, 210, 235, 255, 255 %; allocated: 30, 60, 60, 60, 60, 80, 80 %.
  EXPECT_DOUBLE_EQ(*result->curve.at(30), 30);
  EXPECT_DOUBLE_EQ(*result->curve.at(60), 60);
  EXPECT_DOUBLE_EQ(*result->curve.at(110), 60);
  EXPECT_DOUBLE_EQ(*result->curve.at(235), 60);
  EXPECT_DOUBLE_EQ(*result->curve.at(255), 80);
  EXPECT_EQ(result->curve.at(100), std::nullopt);
}

TEST(Replay, GivesTheSameResultTwice) {
  const Trace trace = synthetic_trace(30, 4);
  Scenario scenario = scenario_of(trace.nodes, trace.pods);
  scenario.arrivals = inflate(trace, 1.3, 4).value();
  Progress progress;
  for (const char* policy : {"dual-price", "random", "binpack"}) {
    SCOPED_TRACE(policy);
    const auto one = replay(scenario, options_for(policy), progress);
    const auto two = replay(scenario, options_for(policy), progress);
    ASSERT_TRUE(one && two);
    EXPECT_EQ(one->placed, two->placed);
    EXPECT_EQ(one->refused, two->refused);
    EXPECT_EQ(one->curve.at(100), two->curve.at(100));
    EXPECT_EQ(one->placed + one->refused[0] + one->refused[1] + one->refused[2] + one->refused[3],
              one->arrived);
  }
}

TEST(Churn, ArrivalsDependOnTraceLoadAndSeedAlone) {
  const Trace trace = synthetic_trace(30, 4);
  const Scenario scenario = scenario_of(trace.nodes, trace.pods);
  const ChurnConfig config{.load = 1.0};
  const auto one = churn_arrivals(scenario, config, 11);
  const auto two = churn_arrivals(scenario, config, 11);
  const auto other = churn_arrivals(scenario, config, 12);
  ASSERT_TRUE(one && two && other);
  EXPECT_EQ(*one, *two);
  EXPECT_NE(*one, *other);
}

TEST(Churn, OffersTheLoadThatWasAskedFor) {
  const Trace trace = synthetic_trace(300, 4);
  const Scenario scenario = scenario_of(trace.nodes, trace.pods);
  const ChurnConfig config{.load = 0.8, .lifetimes = 20};
  const auto arrivals = churn_arrivals(scenario, config, 1);
  ASSERT_TRUE(arrivals);
  double work = 0;
  double life = 0;
  double last = 0;
  for (const ChurnArrival& arrival : *arrivals) {
    EXPECT_GE(arrival.time, last);
    last = arrival.time;
    life += arrival.life;
    work += arrival.life * static_cast<double>(scenario.measure.demand(trace.pods[arrival.row]));
  }
  EXPECT_LT(last, 20);
  EXPECT_NEAR(life / static_cast<double>(arrivals->size()), 1, 0.02);
  EXPECT_NEAR(work / 20 / static_cast<double>(scenario.measure.capacity()), 0.8, 0.04);
}

TEST(Churn, AnEmptyClusterAcceptsEverything) {
  const Trace trace = synthetic_trace(30, 4);
  const Scenario scenario = scenario_of(trace.nodes, trace.pods);
  const ChurnConfig config{.load = 0.1};
  const auto arrivals = churn_arrivals(scenario, config, 1).value();
  Progress progress;
  const auto result = churn(scenario, arrivals, config, options_for("best-fit"), progress);
  ASSERT_TRUE(result);
  EXPECT_DOUBLE_EQ(*result->accepted_percent, 100);
  EXPECT_DOUBLE_EQ(*result->accepted_gpu_percent, 100);
  EXPECT_EQ(result->placed, result->arrived);
  EXPECT_NEAR(result->allocated_percent_mean, 10, 5);
  EXPECT_EQ(progress.pods_done, arrivals.size());
}

// One card, and pods that need all of it: the second one arrives while the first one runs.
TEST(Churn, LosesOrQueuesByHand) {
  const Scenario scenario =
      scenario_of({{.name = "n", .cpu_milli = 8000, .memory_mib = 100, .gpus = 1, .model = "T4"}},
                  {gpu_pod(1, 1000)});
  const std::vector<ChurnArrival> arrivals{{.time = 1, .life = 2, .row = 0},
                                           {.time = 2, .life = 4, .row = 0},
                                           {.time = 9, .life = 4, .row = 0}};
  ChurnConfig config{.load = 1, .lifetimes = 10, .warmup = 0};
  Progress progress;
  const auto lost = churn(scenario, arrivals, config, options_for("best-fit"), progress);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->placed, 2);
  EXPECT_EQ(lost->refused, (KindCounts{0, 0, 1, 0}));
  EXPECT_DOUBLE_EQ(lost->allocated_percent_mean, 30);  // from 1 to 3 and from 9 to 10
  EXPECT_EQ(lost->accepted_multi_percent, std::nullopt);

  config.admission = ChurnConfig::Admission::queue;
  const auto queued = churn(scenario, arrivals, config, options_for("best-fit"), progress);
  ASSERT_TRUE(queued);
  EXPECT_EQ(queued->placed, 3);
  EXPECT_DOUBLE_EQ(queued->allocated_percent_mean, 70);  // from 1 to 7 and from 9 to 10
  EXPECT_DOUBLE_EQ(queued->wait.mean, 1.0 / 3);          // the second waits from 2 to 3
  EXPECT_DOUBLE_EQ(queued->wait.p99, 1);
  EXPECT_DOUBLE_EQ(queued->queue_length_mean, 0.1);

  config.warmup = 5;
  const auto late = churn(scenario, arrivals, config, options_for("best-fit"), progress);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->arrived, 1);
  EXPECT_DOUBLE_EQ(late->allocated_percent_mean, 60);  // from 5 to 7 and from 9 to 10
}

TEST(Churn, WaitsAreSummedUp) {
  EXPECT_EQ(wait_stats({}).pods, 0);
  const WaitStats one = wait_stats({3});
  EXPECT_DOUBLE_EQ(one.mean, 3);
  EXPECT_DOUBLE_EQ(one.p99, 3);
  std::vector<double> waits(100, 0.0);
  waits[7] = 50;
  EXPECT_DOUBLE_EQ(wait_stats(waits).p99, 0);
  waits[8] = 40;
  EXPECT_DOUBLE_EQ(wait_stats(waits).p99, 40);
  EXPECT_DOUBLE_EQ(wait_stats(waits).mean, 0.9);
}

}  // namespace
}  // namespace stowage::sim
