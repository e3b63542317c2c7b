#include "sim/output.h"

#include <gtest/gtest.h>

#include "base/testing/json_check.h"
#include "sim/summary.h"
#include "sim/text_table.h"

namespace stowage::sim {
namespace {

RunResult arrival_run(const std::string& policy, std::uint64_t seed, std::int64_t allocated) {
  ReplayResult result{.curve = AllocationCurve(1000)};
  result.curve.add(950, allocated - 10);
  result.curve.add(1000, allocated);
  result.arrived = 12;
  result.placed = 9;
  result.refused = {0, 1, 2, 0};
  result.counters.decisions = 12;
  result.wall_seconds = 0.25;
  return {.policy = policy, .seed = seed, .sequence = "", .load = {}, .outcome = result};
}

RunResult churn_run(const std::string& policy, double load) {
  ChurnResult result;
  result.allocated_percent_mean = 90.5;
  result.accepted_gpu_percent = 99.0;
  result.arrived = 100;
  result.placed = 99;
  result.refused = {0, 0, 0, 1};
  result.queue_length_mean = 1.5;
  result.wait = {100, 0.25, 0.75};
  return {.policy = policy, .seed = 11, .sequence = "", .load = load, .outcome = result};
}

Experiment experiment_of(std::vector<RunResult> runs) {
  Experiment experiment;
  experiment.source = "n.csv and p.csv";
  experiment.nodes = 2;
  experiment.cards = 10;
  experiment.inflate = 1.3;
  experiment.runs = std::move(runs);
  experiment.peak_rss_mib = 12.25;
  return experiment;
}

TEST(Output, OneRunIsAnObject) {
  const std::string json = render(experiment_of({arrival_run("fgd", 42, 940)}), OutputFormat::json);
  EXPECT_TRUE(base::JsonCheck::valid(json));
  EXPECT_EQ(json,
            "{\n"
            "  \"policy\": \"fgd\",\n"
            "  \"seed\": 42,\n"
            "  \"nodes\": 2,\n"
            "  \"gpus\": 10,\n"
            "  \"allocated_percent\": {\n"
            "    \"95\": 93.0000,\n"
            "    \"100\": 94.0000,\n"
            "    \"110\": null,\n"
            "    \"120\": null,\n"
            "    \"130\": null\n"
            "  },\n"
            "  \"arrived\": 12,\n"
            "  \"placed\": 9,\n"
            "  \"refused\": {\n"
            "    \"cpu\": 0,\n"
            "    \"share\": 1,\n"
            "    \"whole\": 2,\n"
            "    \"multi\": 0\n"
            "  },\n"
            "  \"held_back\": 0,\n"
            "  \"decisions\": 12,\n"
            "  \"models_learned\": 0,\n"
            "  \"wall_seconds\": 0.250000,\n"
            "  \"peak_rss_mib\": 12.2\n"
            "}\n");
}

TEST(Output, SeveralRunsAreAList) {
  const std::string json =
      render(experiment_of({arrival_run("fgd", 42, 940), arrival_run("fgd", 43, 950)}),
             OutputFormat::json);
  EXPECT_TRUE(base::JsonCheck::valid(json));
  EXPECT_TRUE(json.starts_with("[\n  {\n    \"policy\": \"fgd\""));
}

TEST(Output, ChurnHasItsOwnNumbers) {
  Experiment experiment = experiment_of({churn_run("fgd", 0.9)});
  const std::string lost = render(experiment, OutputFormat::json);
  EXPECT_TRUE(base::JsonCheck::valid(lost));
  EXPECT_NE(lost.find("\"load\": 0.9000"), std::string::npos);
  EXPECT_NE(lost.find("\"allocated_percent_mean\": 90.5000"), std::string::npos);
  EXPECT_NE(lost.find("\"accepted_gpu_percent\": 99.0000"), std::string::npos);
  EXPECT_NE(lost.find("\"accepted_multi_percent\": null"), std::string::npos);
  EXPECT_EQ(lost.find("wait"), std::string::npos);
  experiment.churn.admission = ChurnConfig::Admission::queue;
  const std::string queued = render(experiment, OutputFormat::json);
  EXPECT_TRUE(base::JsonCheck::valid(queued));
  EXPECT_NE(queued.find("\"wait_p99\": 0.750000"), std::string::npos);
}

TEST(Output, CsvHasOneLineForEachRun) {
  EXPECT_EQ(render(experiment_of({arrival_run("fgd", 42, 940)}), OutputFormat::csv),
            "policy,seed,sequence,allocated_percent_95,allocated_percent_100,allocated_percent_110,"
            "allocated_percent_120,allocated_percent_130,arrived,placed,refused_cpu,refused_share,"
            "refused_whole,refused_multi,held_back,decisions,wall_seconds,peak_rss_mib\n"
            "fgd,42,,93.0000,94.0000,,,,12,9,0,1,2,0,0,12,0.250000,12.2\n");
}

TEST(Output, CsvHeadAndLinesHaveTheSameColumns) {
  Experiment experiment = experiment_of({churn_run("fgd", 0.9)});
  experiment.churn.admission = ChurnConfig::Admission::queue;
  const std::string csv = render(experiment, OutputFormat::csv);
  const std::size_t end = csv.find('\n');
  const auto commas = [](const std::string& line) {
    return std::count(line.begin(), line.end(), ',');
  };
  EXPECT_EQ(commas(csv.substr(0, end)), commas(csv.substr(end + 1)));
}

TEST(Output, TheTableEndsEachPolicyWithItsMean) {
  EXPECT_EQ(
      render(experiment_of({arrival_run("fgd", 42, 940), arrival_run("fgd", 43, 950)}),
             OutputFormat::table),
      "2 nodes with 10 GPUs (n.csv and p.csv); pods arrive up to 130 % of the GPUs\n"
      "\n"
      "              ── allocated % when arrived is ──          ───── refused pods ─────\n"
      "policy  seed   95 %  100 %  110 %  120 %  130 %  placed  cpu  share  whole  multi  seconds\n"
      "──────────────────────────────────────────────────────────────────────────────────────────"
      "\n"
      "fgd     42    93.00  94.00      -      -      -       9    0      1      2      0     0.25\n"
      "fgd     43    94.00  95.00      -      -      -       9    0      1      2      0     0.25\n"
      "fgd     mean  93.50  94.50      -      -      -       9    0      1      2      0     "
      "0.25\n");
}

TEST(Output, SummariesKeepPoliciesAndLoadsApart) {
  const auto summaries = summarise(experiment_of(
      {churn_run("fgd", 0.9), churn_run("fgd", 0.9), churn_run("fgd", 1), churn_run("random", 1)}));
  ASSERT_EQ(summaries.size(), 3U);
  EXPECT_EQ(summaries[0].runs, 2U);
  EXPECT_EQ(summaries[1].load, 1.0);
  EXPECT_EQ(summaries[2].policy, "random");
  EXPECT_EQ(summaries[0].accepted_multi_percent, std::nullopt);
}

TEST(TextTable, WidensColumnsForTheirTitle) {
  TextTable table({"a", "b", "c"}, 1);
  table.group(1, 2, "a long title");
  table.row({"x", "1", "2"});
  table.rule();
  table.row({"yy", "10", "20"});
  EXPECT_EQ(table.text(),
            "    a long title\n"
            "a          b   c\n"
            "────────────────\n"
            "x          1   2\n"
            "────────────────\n"
            "yy        10  20\n");
}

}  // namespace
}  // namespace stowage::sim
