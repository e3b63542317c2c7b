#include "reports/report_batcher.h"

#include <gtest/gtest.h>

#include "net/testing/loops.h"

namespace stowage::reports {
namespace {

using namespace std::chrono_literals;
using codec::AgentReport;
using net::testing::run_for;
using net::testing::run_until;

AgentReport with_pod(const std::string& name, const std::vector<std::string>& ids) {
  AgentReport report;
  report.pods.emplace().now = {
      {.ns = "ml",
       .name = name,
       .containers = {
           {.name = "main", .devices = {{"nvidia.com/gpu", ids}, {"rdma/hca", {"hca-0"}}}}}}};
  return report;
}

AgentReport with_cards(int count) {
  AgentReport report;
  report.cards.emplace();
  for (int i = 0; i < count; ++i) {
    report.cards->push_back({.id = "GPU-" + std::to_string(i), .index = i});
  }
  return report;
}

struct ReportBatcherTest : ::testing::Test {
  void update(const std::string& node, const AgentReport& report) {
    EXPECT_TRUE(report_cache.update(node, report, now));
  }
  [[nodiscard]] bool soon(std::size_t batches_in) {
    return run_until(loop, [&] { return batches.size() >= batches_in; });
  }

  net::EventLoop loop;
  net::Moment now{1000s};
  ReportCache report_cache;
  std::vector<std::vector<NodeUpdate>> batches;
  ReportBatcher batcher{
      loop, report_cache, {.every = 5ms, .nodes_max = 3}, [this](std::vector<NodeUpdate> batch) {
        batches.push_back(std::move(batch));
      }};
};

TEST_F(ReportBatcherTest, ManyChangesAreOneNews) {
  update("n1", with_cards(2));
  AgentReport load;
  load.load = {{.card = 0, .busy_permille = 100}, {.card = 1}, {.card = 7, .busy_permille = 9}};
  update("n1", load);
  now += 1s;
  load.load = {{.card = 1, .busy_permille = 300}};
  update("n1", load);
  update("n1", with_pod("p", {"GPU-0"}));
  update("n1", with_pod("p", {"GPU-1"}));
  ASSERT_TRUE(soon(1));
  ASSERT_EQ(batches[0].size(), 1U);
  const NodeUpdate& node_update = batches[0][0];
  EXPECT_EQ(node_update.silent, false) << "it is heard for the first time";
  ASSERT_EQ(node_update.busy.size(), 2U) << "a card that the node does not have says nothing";
  EXPECT_EQ(node_update.busy[1].card, "GPU-1");
  EXPECT_EQ(node_update.busy[1].permille, 300);
  EXPECT_EQ(node_update.measured, now - 1s);
  ASSERT_EQ(node_update.pods.size(), 1U);
  EXPECT_EQ(node_update.pods[0].name, "ml/p");
  EXPECT_EQ(node_update.pods[0].allocation.at("main"),
            (std::vector<std::string>{"GPU-1", "hca-0"}));
  run_for(loop, 20ms);
  EXPECT_EQ(batches.size(), 1U);
}

TEST_F(ReportBatcherTest, PodsGoAndNodesFallSilent) {
  update("n1", with_pod("p", {"GPU-0"}));
  ASSERT_TRUE(soon(1));
  EXPECT_FALSE(batches[0][0].load_told);
  AgentReport gone;
  gone.pods.emplace().gone = {"ml/p"};
  update("n1", gone);
  report_cache.look(now + 5s);
  ASSERT_TRUE(soon(2));
  EXPECT_EQ(batches[1][0].silent, true);
  EXPECT_EQ(batches[1][0].gone, std::vector<std::string>{"ml/p"});
  update("n1", with_pod("q", {"GPU-0"}));
  ASSERT_TRUE(soon(3));
  EXPECT_EQ(batches[2][0].silent, false);
}

TEST_F(ReportBatcherTest, SilenceIsSentWhenItChanges) {
  update("n1", with_cards(1));
  ASSERT_TRUE(soon(1));
  EXPECT_EQ(batches[0][0].silent, false);
  update("n1", with_pod("p", {"GPU-0"}));
  ASSERT_TRUE(soon(2));
  EXPECT_EQ(batches[1][0].silent, std::nullopt);
  report_cache.look(now + 5s);
  ASSERT_TRUE(soon(3));
  EXPECT_EQ(batches[2][0].silent, true);
  EXPECT_FALSE(batches[2][0].load_told);
}

TEST_F(ReportBatcherTest, NothingIsSentOfANodeThatIsForgotten) {
  update("n1", with_pod("p", {"GPU-0"}));
  report_cache.forget("n1");
  EXPECT_EQ(batcher.waiting(), 0U);
  run_for(loop, 20ms);
  EXPECT_TRUE(batches.empty());
}

TEST_F(ReportBatcherTest, ANodeThatIsNewToTheLedgerIsToldInFull) {
  update("n1", with_cards(1));
  update("n1", with_pod("p", {"GPU-0"}));
  update("n2", with_cards(1));
  ASSERT_TRUE(soon(1));
  batcher.resend("n1");
  batcher.resend("unknown");
  ASSERT_TRUE(soon(2));
  ASSERT_EQ(batches[1].size(), 1U);
  EXPECT_EQ(batches[1][0].node, "n1");
  EXPECT_EQ(batches[1][0].silent, false);
  EXPECT_TRUE(batches[1][0].load_told);
  EXPECT_EQ(batches[1][0].pods.size(), 1U);
}

TEST_F(ReportBatcherTest, MuchComesInSeveralBatches) {
  for (int i = 0; i < 8; ++i) update("n" + std::to_string(i), with_cards(1));
  ASSERT_TRUE(soon(3));
  EXPECT_EQ(batches[0].size(), 3U);
  EXPECT_EQ(batches[1].size(), 3U);
  EXPECT_EQ(batches[2].size(), 2U);
  batches.clear();
  batcher.resend_all();
  ASSERT_TRUE(soon(3));
  EXPECT_EQ(batcher.waiting(), 0U);
}

TEST_F(ReportBatcherTest, ThePluginIsToldWhenItChangesAndToANewLedger) {
  AgentReport report;
  report.plugin = codec::ReportedPlugin{.registered = false, .resources = {"stowage.dev/x"}};
  update("n1", report);
  update("n2", with_cards(1));
  ASSERT_TRUE(soon(1));
  ASSERT_EQ(batches.back().size(), 2U);
  EXPECT_EQ(batches.back()[0].plugin, PluginState::missing);
  EXPECT_EQ(batches.back()[1].plugin, std::nullopt) << "n2 has none";
  report.plugin->registered = true;
  update("n1", report);
  ASSERT_TRUE(soon(2));
  EXPECT_EQ(batches.back()[0].plugin, PluginState::registered);
  batcher.resend_all();
  ASSERT_TRUE(soon(3));
  EXPECT_EQ(batches.back()[0].plugin, PluginState::registered);
  EXPECT_EQ(batches.back()[1].plugin, std::nullopt);
  update("n1", {.version = 1, .node = "n1"});
  ASSERT_TRUE(soon(4));
  EXPECT_EQ(batches.back()[0].plugin, PluginState::none) << "an agent without one has started";
}

}  // namespace
}  // namespace stowage::reports
