#include "sim/experiment.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/file.h"

namespace stowage::sim {
namespace {

ExperimentConfig synthetic_config(unsigned jobs) {
  ExperimentConfig config;
  config.synthetic_nodes = 20;
  config.seeds = {3, 4};
  config.policies = {core::parse_policy("best-fit").value(), core::parse_policy("random").value()};
  config.jobs = jobs;
  return config;
}

Result<Experiment> run(const ExperimentConfig& config) {
  auto inputs = read_inputs(config);
  if (!inputs) return fail(inputs.error().message);
  return run_experiment(config, *inputs);
}

TEST(Experiment, ResultsComeInAFixedOrderWhateverTheThreads) {
  const auto one = run(synthetic_config(1));
  const auto many = run(synthetic_config(4));
  ASSERT_TRUE(one && many);
  ASSERT_EQ(one->runs.size(), 4U);
  EXPECT_EQ(one->runs[0].policy, "best-fit");
  EXPECT_EQ(one->runs[1].policy, "best-fit");
  EXPECT_EQ(one->runs[1].seed, 4U);
  EXPECT_EQ(one->runs[2].policy, "random");
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& a = std::get<ReplayResult>(one->runs[i].outcome);
    const auto& b = std::get<ReplayResult>(many->runs[i].outcome);
    EXPECT_EQ(one->runs[i].seed, many->runs[i].seed);
    EXPECT_EQ(a.placed, b.placed);
    EXPECT_EQ(a.curve.at(100), b.curve.at(100));
  }
}

TEST(Experiment, LoadsAreRunEachForItself) {
  ExperimentConfig config = synthetic_config(2);
  config.loads = {0.5, 1.5};
  config.churn = {.lifetimes = 2, .warmup = 1};
  const auto result = run(config);
  ASSERT_TRUE(result);
  ASSERT_EQ(result->runs.size(), 8U);
  EXPECT_EQ(result->runs[0].load, 0.5);
  EXPECT_EQ(result->runs[2].load, 1.5);
  const auto& light = std::get<ChurnResult>(result->runs[0].outcome);
  const auto& heavy = std::get<ChurnResult>(result->runs[2].outcome);
  EXPECT_LT(light.arrived, heavy.arrived);
}

class ExperimentFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / "stowage_experiment_test";
    std::filesystem::create_directories(folder_);
    config_.nodes_file = write("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\na,8000,100,2,T4\n");
    config_.pods_file =
        write("pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1000,1,1,1000\n");
    config_.seeds = {1};
    config_.policies = {core::parse_policy("best-fit").value()};
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const char* name, const std::string& text) {
    std::string path = (folder_ / name).string();
    EXPECT_TRUE(base::write_file(path, text));
    return path;
  }

  std::filesystem::path folder_;
  ExperimentConfig config_;
};

TEST_F(ExperimentFiles, ASequenceIsReplayedAsRecorded) {
  config_.seeds.clear();
  config_.sequences = {write("tiny_42.txt", "1\na 0\n3\n0\n0\n0\n")};
  const auto result = run(config_);
  ASSERT_TRUE(result);
  const RunResult& only = result->runs.front();
  EXPECT_EQ(only.seed, 42U);
  EXPECT_EQ(only.sequence, "tiny_42.txt");
  const auto& outcome = std::get<ReplayResult>(only.outcome);
  EXPECT_EQ(outcome.placed, 2);
  EXPECT_EQ(outcome.refused, (KindCounts{0, 0, 1, 0}));
  EXPECT_EQ(result->cards, 2);
}

TEST_F(ExperimentFiles, WithoutInflatingEachPodComesOnce) {
  config_.inflate = 0;
  const auto result = run(config_);
  ASSERT_TRUE(result);
  EXPECT_EQ(std::get<ReplayResult>(result->runs.front().outcome).arrived, 1);
}

TEST_F(ExperimentFiles, AClusterWithoutGpusIsRefused) {
  config_.nodes_file = write("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\na,8000,100,0,\n");
  const auto result = run(config_);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            config_.nodes_file + ": no node has a GPU: there is nothing to measure");
}

TEST_F(ExperimentFiles, MemoryMustBeKnownOnBothSides) {
  config_.pods_file = write("pods.csv",
                            "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_memory_mib\n"
                            "p,1000,1,1,500,100\n");
  EXPECT_EQ(run(config_).error().message,
            config_.pods_file + ": pod \"p\" asks for GPU memory, but no node of " +
                config_.nodes_file + " says how much its cards have (column gpu_memory_mib)");
  config_.memory = MemoryShare::follows_milli;
  EXPECT_EQ(run(config_).error().message,
            config_.pods_file +
                ": pod \"p\" asks for GPU memory already, so --memory-share cannot give it some");
}

TEST_F(ExperimentFiles, ARunThatFailsEndsThemAll) {
  config_.pods_file =
      write("pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1000,1,0,0\n");
  EXPECT_EQ(run(config_).error().message, "no pod asks for a GPU: there is nothing to inflate");
}

}  // namespace
}  // namespace stowage::sim
