#include "sim/report.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.h"
#include "sim/chart.h"

namespace stowage::sim {
namespace {

// True if all elements are closed in the right order.
bool well_formed(const std::string& html) {
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    if (html[at + 1] == '!') continue;
    const std::size_t end = html.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = html.substr(at + 1, end - at - 1);
    if (tag.ends_with('/')) continue;
    const bool closing = tag.front() == '/';
    const std::string name = tag.substr(closing ? 1 : 0, tag.find(' ') - (closing ? 1 : 0));
    if (name == "meta" || name == "br") continue;
    if (!closing) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return false;
    } else {
      open.pop_back();
    }
  }
  return open.empty();
}

RunResult arrival_run(const std::string& policy, int full_at) {
  ReplayResult result{.curve = AllocationCurve(100)};
  for (int arrived = 1; arrived <= 130; ++arrived) {
    result.curve.add(arrived, std::min(arrived, full_at));
  }
  result.arrived = 130;
  result.placed = full_at;
  result.refused = {1, 2, 3, 4};
  return {.policy = policy, .seed = 1, .sequence = "", .load = {}, .outcome = result};
}

Experiment experiment_of(std::vector<RunResult> runs) {
  Experiment experiment;
  experiment.source = "<n.csv> & p.csv";
  experiment.nodes = 20;
  experiment.cards = 1000;
  experiment.inflate = 1.3;
  experiment.runs = std::move(runs);
  return experiment;
}

TEST(Report, ShowsTheWastedGpusOfEachPolicy) {
  const std::string html =
      render_report(experiment_of({arrival_run("dual-price", 96), arrival_run("fgd", 95)}));
  EXPECT_TRUE(well_formed(html));
  EXPECT_NE(html.find("Once pods have asked for 1,000 of the cluster's 1,000 GPUs, "
                      "<strong>dual-price</strong> leaves <strong>40 GPUs</strong> of that demand "
                      "unserved; <strong>fgd</strong> leaves 50, that is 10 GPUs more."),
            std::string::npos);
  EXPECT_NE(html.find("&lt;n.csv&gt; &amp; p.csv"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("http"), std::string::npos);
  EXPECT_NE(html.find("prefers-color-scheme: dark"), std::string::npos);
}

TEST(Report, WorksForATraceThatNeverFillsTheCluster) {
  ReplayResult result{.curve = AllocationCurve(100)};
  result.curve.add(10, 9);
  const std::string html = render_report(
      experiment_of({{.policy = "fgd", .seed = 1, .sequence = "", .load = {}, .outcome = result}}));
  EXPECT_TRUE(well_formed(html));
  EXPECT_NE(html.find("Once pods have asked for 100 of"), std::string::npos);
  EXPECT_EQ(html.find("nan"), std::string::npos);
}

TEST(Report, ShowsChurnByLoad) {
  ChurnResult result;
  result.allocated_percent_mean = 90;
  result.accepted_gpu_percent = 99;
  Experiment experiment =
      experiment_of({{.policy = "fgd", .seed = 1, .sequence = "", .load = 0.9, .outcome = result}});
  const std::string html = render_report(experiment);
  EXPECT_TRUE(well_formed(html));
  EXPECT_NE(html.find("fgd, load 0.9"), std::string::npos);
  experiment.churn.admission = ChurnConfig::Admission::queue;
  EXPECT_TRUE(well_formed(render_report(experiment)));
}

TEST(Report, IsWrittenIntoANewFolder) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "stowage_report_test" / "deep";
  std::filesystem::remove_all(folder.parent_path());
  ASSERT_TRUE(prepare_report(folder.string()));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  const auto page = write_report(folder.string(), experiment_of({arrival_run("fgd", 95)}));
  ASSERT_TRUE(page);
  EXPECT_EQ(*page, (folder / "index.html").string());
  EXPECT_TRUE(base::read_file(*page, kInputBytesMax));
  std::filesystem::remove_all(folder.parent_path());
}

TEST(Report, SaysWhereItCannotBeWritten) {
  const Status status = prepare_report("/proc/stowage");
  ASSERT_FALSE(status);
  EXPECT_TRUE(status.error().message.starts_with("cannot create the folder /proc/stowage: "));
}

TEST(Chart, TicksAreRoundNumbers) {
  EXPECT_DOUBLE_EQ(tick_step(130, 8), 20);
  EXPECT_DOUBLE_EQ(tick_step(50, 8), 10);
  EXPECT_DOUBLE_EQ(tick_step(7, 6), 2);
  EXPECT_DOUBLE_EQ(tick_step(1, 8), 0.2);
}

TEST(Chart, NamesAreSafeInHtml) {
  EXPECT_EQ(html_escaped("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
}

}  // namespace
}  // namespace stowage::sim
