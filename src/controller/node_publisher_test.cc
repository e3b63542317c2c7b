#include "controller/node_publisher.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dialect/dialect.h"
#include "kube/testing/fake_api_server.h"

namespace stowage::controller {
namespace {

using namespace std::chrono_literals;
using kube::testing::FakeApiServer;
using kube::testing::reply;
using kube::testing::run_for;
using kube::testing::run_until;

constexpr const char* kStatus = "/api/v1/nodes/n1/status";
constexpr const char* kRecord = "nano-gpu/gpu-percent=200";

dialect::NodeObject node_object(const std::string& version) {
  dialect::NodeObject node{.name = "n1", .uid = "u1", .resource_version = version};
  node.annotations[std::string(dialect::kInventoryAnnotation)] = dialect::inventory_text(
      {{.id = "GPU-0", .index = 0, .memory_mib = 1000}, {.id = "GPU-1", .index = 1}}, {});
  node.allocatable = {{"pods", *base::Quantity::parse("110")}};
  node.capacity = node.allocatable;
  return node;
}

dialect::NodeObject published(const std::string& version, const char* amount = "200") {
  dialect::NodeObject node = node_object(version);
  node.capacity["nano-gpu/gpu-percent"] = *base::Quantity::parse(amount);
  node.allocatable = node.capacity;
  node.annotations[std::string(dialect::kNodeResourcesAnnotation)] = kRecord;
  return node;
}

struct NodePublisherTest : ::testing::Test {
  NodePublisherTest() { server.script("PATCH", kStatus, {reply(200)}); }

  void start(net::Duration removed_after = 1h) {
    publisher = std::make_unique<NodePublisher>(
        NodePublisherOptions{.amounts = {.dialects = {"nano"}},
                             .look_every = 2ms,
                             .removed_after = removed_after,
                             .watch_lag = 10s,
                             .pause_min = 1ms,
                             .pause_max = 5ms},
        NodePublisher::Deps{.client = *client,
                            .log = log,
                            .nodes = [this]() -> const scheduler::NodeCache& { return nodes; },
                            .leads = [this] { return leads; }});
    publisher->start();
  }
  void see(const dialect::NodeObject& node) { (void)nodes.update(node); }
  [[nodiscard]] std::size_t writes() const { return server.seen("PATCH", kStatus).size(); }
  [[nodiscard]] bool written(std::size_t count) {
    return run_until(loop, [&] {
      return writes() >= count && publisher->counters().written + publisher->counters().failures +
                                          publisher->counters().conflicts >=
                                      count;
    });
  }
  // Nothing more is written for a while.
  [[nodiscard]] std::size_t writes_after_a_while() {
    run_for(loop, 50ms);
    return writes();
  }

  net::EventLoop loop;
  FakeApiServer server{loop};
  std::unique_ptr<kube::ApiClient> client = server.client();
  std::vector<std::string> lines;
  base::Log log{{.write = [this](std::string_view line) { lines.emplace_back(line); }}};
  scheduler::NodeCache nodes;
  bool leads = true;
  std::unique_ptr<NodePublisher> publisher;
};

TEST_F(NodePublisherTest, WritesOnceAndRemovesWhenThePluginIsGone) {
  start(20ms);
  see(node_object("1"));
  EXPECT_EQ(writes_after_a_while(), 0U) << "its agent has no plugin";
  publisher->set_plugin("n1", true);
  ASSERT_TRUE(written(1));
  EXPECT_EQ(server.seen("PATCH", kStatus).front().body,
            R"({"metadata":{"uid":"u1","resourceVersion":"1","annotations":)"
            R"({"stowage.dev/node-resources":"nano-gpu/gpu-percent=200"}},"status":{"capacity":)"
            R"({"nano-gpu/gpu-percent":"200"},"allocatable":{"nano-gpu/gpu-percent":"200"}}})");
  EXPECT_EQ(server.seen("PATCH", kStatus).front().header("content-type"), kube::kMergePatch);
  EXPECT_EQ(writes_after_a_while(), 1U) << "the watch has not shown it yet";
  see(published("2"));
  EXPECT_EQ(writes_after_a_while(), 1U);
  publisher->set_plugin("n1", false);
  ASSERT_TRUE(written(2));
  EXPECT_NE(
      server.seen("PATCH", kStatus).back().body.find(R"("capacity":{"nano-gpu/gpu-percent":null})"),
      std::string::npos);
}

TEST_F(NodePublisherTest, WritesAgainWhatTheKubeletHasReset) {
  start();
  see(published("1", "0"));
  publisher->set_plugin("n1", true);
  ASSERT_TRUE(written(1));
  see(published("2"));
  EXPECT_EQ(writes_after_a_while(), 1U);
  see(published("3", "0"));
  ASSERT_TRUE(written(2));
}

TEST_F(NodePublisherTest, LeavesTheResourcesOfOthers) {
  start();
  dialect::NodeObject node = node_object("1");
  node.capacity["nano-gpu/gpu-percent"] = *base::Quantity::parse("800");
  see(node);
  publisher->set_plugin("n1", true);
  EXPECT_EQ(writes_after_a_while(), 0U);
  ASSERT_EQ(lines.size(), 1U) << "it is said once";
  EXPECT_NE(lines.front().find("nano-gpu/gpu-percent"), std::string::npos);
}

TEST_F(NodePublisherTest, CountedCardsAreNotPublished) {
  start();
  dialect::NodeObject node{.name = "n1", .uid = "u1", .resource_version = "1"};
  node.allocatable = {{"nvidia.com/gpu", *base::Quantity::parse("2")}};
  see(node);
  publisher->set_plugin("n1", true);
  EXPECT_EQ(writes_after_a_while(), 0U);
}

TEST_F(NodePublisherTest, OnlyTheLeaderWrites) {
  leads = false;
  start();
  see(node_object("1"));
  publisher->set_plugin("n1", true);
  EXPECT_EQ(writes_after_a_while(), 0U);
  leads = true;
  EXPECT_TRUE(written(1));
}

TEST_F(NodePublisherTest, AConflictIsPlannedAgainOnTheNewState) {
  server.script("PATCH", kStatus, {reply(409), reply(200)});
  start();
  see(node_object("1"));
  publisher->set_plugin("n1", true);
  ASSERT_TRUE(written(1));
  EXPECT_EQ(writes_after_a_while(), 1U) << "the same write would fail again";
  see(node_object("2"));
  ASSERT_TRUE(written(2));
  EXPECT_NE(server.seen("PATCH", kStatus).back().body.find(R"("resourceVersion":"2")"),
            std::string::npos);
  EXPECT_EQ(publisher->counters().conflicts, 1U);
}

TEST_F(NodePublisherTest, ARefusalIsReportedOnceAndTriedAgain) {
  server.script("PATCH", kStatus, {reply(403, R"({"kind":"Status","message":"no right"})")});
  start();
  see(node_object("1"));
  publisher->set_plugin("n1", true);
  ASSERT_TRUE(written(3));
  EXPECT_EQ(lines.size(), 1U);
  EXPECT_GE(publisher->counters().failures, 3U);
}

// A leader that has just begun has no reports yet: what is published stays for a while.
TEST_F(NodePublisherTest, WithoutReportsNothingIsRemovedAtOnce) {
  start(200ms);
  see(published("1"));
  EXPECT_EQ(writes_after_a_while(), 0U);
  ASSERT_TRUE(written(1)) << "nobody has reported for long: the agent is gone";
}

TEST_F(NodePublisherTest, ManyNodesAreLookedAtInTurns) {
  constexpr int kNodes = 450;
  std::size_t answered = 0;
  const auto path = [](int i) { return fmt::format("/api/v1/nodes/m{:03}/status", i); };
  for (int i = 0; i < kNodes; ++i) {
    server.script("PATCH", path(i),
                  {[&](const kube::testing::SeenRequest& request, const auto& responder) {
                    ++answered;
                    reply(200)(request, responder);
                  }});
    dialect::NodeObject node = node_object("1");
    node.name = fmt::format("m{:03}", i);
    see(node);
  }
  publisher = std::make_unique<NodePublisher>(
      NodePublisherOptions{
          .amounts = {.dialects = {"nano"}}, .look_every = 10ms, .writes_per_second = 10'000},
      NodePublisher::Deps{.client = *client,
                          .log = log,
                          .nodes = [this]() -> const scheduler::NodeCache& { return nodes; },
                          .leads = [] { return true; }});
  for (int i = 0; i < kNodes; ++i) publisher->set_plugin(fmt::format("m{:03}", i), i % 10 != 0);
  publisher->start();
  EXPECT_TRUE(run_until(loop, [&] { return answered == kNodes * 9 / 10; })) << answered;
  run_for(loop, 50ms);
  EXPECT_EQ(answered, kNodes * 9U / 10) << "each once, and none without a plugin";
}

TEST_F(NodePublisherTest, SwitchedOffItTakesAwayWhatItHasPublished) {
  start();
  see(published("1"));
  publisher->set_plugin("n1", true);
  EXPECT_EQ(writes_after_a_while(), 0U);
  publisher->set_amounts({.dialects = {}});
  ASSERT_TRUE(written(1));
}

}  // namespace
}  // namespace stowage::controller
