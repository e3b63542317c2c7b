#include <functional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/nearest.h"
#include "cmd/sim_command.h"

namespace stowage::cmd {
namespace {

SimFlags synthetic_flags() {
  SimFlags flags;
  flags.synthetic = "200";
  return flags;
}

TEST(SimSettings, AreSensibleWhenLittleIsSaid) {
  const auto settings = sim_settings(synthetic_flags());
  ASSERT_TRUE(settings);
  const sim::ExperimentConfig& config = settings->experiment;
  EXPECT_EQ(config.synthetic_nodes, 200);
  EXPECT_EQ(config.seeds, std::vector<std::uint64_t>{1});
  EXPECT_EQ(config.inflate, 1.3);
  EXPECT_EQ(config.policies, std::vector<core::PolicyChoice>{core::PolicyChoice{}});
  EXPECT_TRUE(config.loads.empty());
  EXPECT_FALSE(config.options.hold_back);
  EXPECT_TRUE(config.options.memory_duals);
  EXPECT_EQ(settings->format, sim::OutputFormat::table);
}

TEST(SimSettings, ListsAreWrittenWithCommasOrByRepeating) {
  SimFlags flags = synthetic_flags();
  flags.seeds = {"42-44", "7,43,9"};
  flags.policies = {"fgd,best-fit", "fgd"};
  flags.loads = {"0.9,1", "1.1"};
  const auto settings = sim_settings(flags);
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->experiment.seeds, (std::vector<std::uint64_t>{42, 43, 44, 7, 9}));
  EXPECT_EQ(settings->experiment.policies.size(), 2U);
  EXPECT_EQ(settings->experiment.loads, (std::vector<double>{0.9, 1, 1.1}));
}

TEST(SimSettings, ASequenceBringsItsOwnSeed) {
  SimFlags flags;
  flags.nodes = "n.csv";
  flags.pods = "p.csv";
  flags.sequences = {"default_42.txt"};
  const auto settings = sim_settings(flags);
  ASSERT_TRUE(settings);
  EXPECT_TRUE(settings->experiment.seeds.empty());
}

struct BadFlags {
  const char* name;
  std::function<void(SimFlags&)> change;
  const char* message;
};

void expect_refused(std::span<const BadFlags> rows) {
  for (const BadFlags& row : rows) {
    SCOPED_TRACE(row.name);
    SimFlags flags = synthetic_flags();
    row.change(flags);
    const auto settings = sim_settings(flags);
    ASSERT_FALSE(settings);
    EXPECT_EQ(settings.error().message, row.message);
  }
}

TEST(SimSettings, FlagsThatContradictEachOtherAreRefused) {
  const BadFlags rows[] = {
      {"no trace", [](SimFlags& f) { f.synthetic.clear(); },
       "no trace given: give --nodes FILE and --pods FILE, or --synthetic N"},
      {"nodes without pods",
       [](SimFlags& f) {
         f.synthetic.clear();
         f.nodes = "n.csv";
       },
       "no trace given: give --nodes FILE and --pods FILE, or --synthetic N"},
      {"files and a synthetic trace", [](SimFlags& f) { f.pods = "p.csv"; },
       "--synthetic and --pods contradict each other: give only one of them"},
      {"a sequence of a synthetic trace", [](SimFlags& f) { f.sequences = {"s.txt"}; },
       "--synthetic and --sequence contradict each other: give only one of them"},
      {"a sequence that is inflated",
       [](SimFlags& f) {
         f = {};
         f.nodes = "n.csv";
         f.pods = "p.csv";
         f.sequences = {"s.txt"};
         f.inflate = "1.3";
       },
       "--sequence and --inflate contradict each other: give only one of them"},
      {"churn that is inflated",
       [](SimFlags& f) {
         f.loads = {"1"};
         f.inflate = "1.3";
       },
       "--churn and --inflate contradict each other: give only one of them"},
      {"a queue without churn", [](SimFlags& f) { f.queue = true; },
       "--queue needs --churn: give --churn too"},
      {"lifetimes without churn", [](SimFlags& f) { f.lifetimes = "5"; },
       "--lifetimes needs --churn: give --churn too"},
      {"a warmup that leaves nothing",
       [](SimFlags& f) {
         f.loads = {"1"};
         f.warmup = "8";
       },
       "--warmup 8 leaves nothing of --lifetimes 8 to measure"},
  };
  expect_refused(rows);
}

TEST(SimSettings, BadValuesAreRefused) {
  const BadFlags rows[] = {
      {"no nodes at all", [](SimFlags& f) { f.synthetic = "0"; },
       "--synthetic is \"0\": expected a whole number from 1 to 1000000"},
      {"a negative number of nodes", [](SimFlags& f) { f.synthetic = "-3"; },
       "--synthetic is \"-3\": expected a whole number from 1 to 1000000"},
      {"a seed that is a word", [](SimFlags& f) { f.seeds = {"42,x"}; },
       "--seed is \"x\": expected a whole number from 0 to 18446744073709551615, or a range such "
       "as 42-46"},
      {"a range that runs backwards", [](SimFlags& f) { f.seeds = {"46-42"}; },
       "--seed is \"46-42\": expected a whole number from 0 to 18446744073709551615, or a range "
       "such as 42-46"},
      {"a negative load", [](SimFlags& f) { f.loads = {"-1"}; },
       "--churn is \"-1\": expected a number from 0.01 to 10"},
      {"a load that is no number", [](SimFlags& f) { f.loads = {"nan"}; },
       "--churn is \"nan\": expected a number from 0.01 to 10"},
      {"an inflation beyond reason", [](SimFlags& f) { f.inflate = "1e9"; },
       "--inflate is \"1e9\": expected a number from 0 to 10"},
      {"an unknown memory variant", [](SimFlags& f) { f.memory_share = "C"; },
       "--memory-share is \"C\": expected A or B"},
      {"an unknown format", [](SimFlags& f) { f.output = "xml"; },
       "-o is \"xml\": expected table, json or csv"},
      {"no jobs", [](SimFlags& f) { f.jobs = "0"; },
       "--jobs is \"0\": expected a whole number from 1 to 1024"},
      {"too many runs",
       [](SimFlags& f) {
         f.seeds = {"0-9999"};
         f.loads = {"0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0,1.1"};
       },
       "these flags ask for 110000 runs: at most 100000 are possible at once"},
  };
  expect_refused(rows);
}

TEST(SimSettings, AnUnknownPolicyIsToldTheNearest) {
  SimFlags flags = synthetic_flags();
  flags.policies = {"fdg"};
  const auto settings = sim_settings(flags);
  ASSERT_FALSE(settings);
  EXPECT_NE(settings.error().message.find("\"fdg\""), std::string::npos);
  EXPECT_NE(settings.error().message.find("fgd"), std::string::npos);
}

TEST(Nearest, FindsWhatWasMeant) {
  const std::vector<std::string> flags{"--policy", "--pods", "--nodes"};
  EXPECT_EQ(base::nearest("--polcy", flags), "--policy");
  EXPECT_EQ(base::nearest("--pod", flags), "--pods");
  EXPECT_EQ(base::nearest("--xyzxyzxyzxyzxyz", flags), "");
  EXPECT_EQ(base::nearest("", flags), "");
}

}  // namespace
}  // namespace stowage::cmd
