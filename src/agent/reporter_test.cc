#include "agent/reporter.h"

#include <gtest/gtest.h>

#include "dialect/dialect.h"
#include "kube/testing/fake_api_server.h"

namespace stowage::agent {
namespace {

using namespace std::chrono_literals;
using kube::testing::FakeApiServer;
using kube::testing::refuse;
using kube::testing::reply;
using kube::testing::run_for;
using kube::testing::run_until;

constexpr const char* kNode = "/api/v1/nodes/n1";

std::vector<core::Card> cards(int count, bool healthy = true) {
  std::vector<core::Card> list;
  for (int i = 0; i < count; ++i) {
    list.push_back({.id = "GPU-" + std::to_string(i),
                    .index = i,
                    .model = "NVIDIA H200",
                    .memory_mib = 143771,
                    .healthy = healthy});
  }
  return list;
}

std::string quoted(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '"' ? "\\\"" : std::string(1, c);
  return out;
}

std::string node_with(const std::string& inventory) {
  return R"({"metadata":{"name":"n1","annotations":{"stowage.dev/gpu-inventory":")" +
         quoted(inventory) + "\"}}}";
}

struct ReporterTest : ::testing::Test {
  void make(ReporterOptions options = {}) {
    options.node = "n1";
    options.backoff_min = 5ms;
    options.backoff_max = 10ms;
    reporter = std::make_unique<Reporter>(*client, options, log);
    reporter->start();
  }
  std::size_t writes() { return server.seen("PATCH", kNode).size(); }
  [[nodiscard]] bool soon(const std::function<bool()>& met) { return run_until(loop, met); }

  net::EventLoop loop;
  FakeApiServer server{loop};
  std::unique_ptr<kube::ApiClient> client = server.client();
  base::Log log{{.write = [](std::string_view) {}}};
  std::unique_ptr<Reporter> reporter;
};

TEST_F(ReporterTest, WritesWhatTheNodeDoesNotSay) {
  server.script("GET", kNode, {reply(200, R"({"metadata":{"name":"n1"}})")});
  server.script("PATCH", kNode, {reply(200, R"({"metadata":{"name":"n1"}})")});
  make();
  reporter->set_cards(cards(2), {});
  ASSERT_TRUE(soon([&] { return reporter->snapshot().written; }));
  const auto seen = server.seen("PATCH", kNode).at(0);
  EXPECT_EQ(seen.header("content-type"), "application/merge-patch+json");
  EXPECT_EQ(seen.body, R"({"metadata":{"annotations":{"stowage.dev/gpu-inventory":")" +
                           quoted(dialect::inventory_text(cards(2), {})) + "\"}}}");
  reporter->set_cards(cards(2), {});
  run_for(loop, 30ms);
  EXPECT_EQ(writes(), 1U) << "nothing has changed";
}

TEST_F(ReporterTest, WhatTheNodeSaysAlreadyIsNotWritten) {
  server.script("GET", kNode, {reply(200, node_with(dialect::inventory_text(cards(2), {})))});
  make();
  reporter->set_cards(cards(2), {});
  ASSERT_TRUE(soon([&] { return reporter->snapshot().written; }));
  EXPECT_EQ(writes(), 0U);
}

TEST_F(ReporterTest, ChangesAreWrittenNotTooOften) {
  server.script("GET", kNode, {reply(200, R"({"metadata":{"name":"n1"}})")});
  server.script("PATCH", kNode, {reply(200)});
  make({.spacing = 100ms});
  reporter->set_cards(cards(2), {});
  ASSERT_TRUE(soon([&] { return reporter->snapshot().written; }));
  for (int i = 0; i < 5; ++i) {
    reporter->set_cards(cards(2, i % 2 == 1), {});
    run_for(loop, 5ms);
  }
  EXPECT_EQ(writes(), 1U);
  ASSERT_TRUE(soon([&] { return writes() == 2; }));
  EXPECT_NE(server.seen("PATCH", kNode).at(1).body.find(R"(\"healthy\":false)"), std::string::npos);
}

TEST_F(ReporterTest, AnotherWriterHasEditedIt) {
  server.script("GET", kNode,
                {reply(200, node_with(dialect::inventory_text(cards(2), {}))),
                 reply(200, node_with(dialect::inventory_text(cards(8), {})))});
  server.script("PATCH", kNode, {reply(200)});
  make({.look_every = 20ms});
  reporter->set_cards(cards(2), {});
  ASSERT_TRUE(soon([&] { return writes() > 0; }));
}

TEST_F(ReporterTest, TriesAgainAndSaysWhy) {
  server.script("GET", kNode,
                {refuse(403, "Forbidden", "no"), reply(200, "nonsense"),
                 reply(200, R"({"metadata":{"name":"n1"}})")});
  server.script("PATCH", kNode, {refuse(403, "Forbidden", "not yours"), reply(200)});
  make();
  reporter->set_cards(cards(1), {});
  ASSERT_TRUE(soon([&] { return reporter->snapshot().failures == 1; }));
  EXPECT_NE(reporter->snapshot().trouble.find("no"), std::string::npos);
  ASSERT_TRUE(soon([&] { return reporter->snapshot().written; }));
  EXPECT_EQ(reporter->snapshot().failures, 3U);
  EXPECT_TRUE(reporter->snapshot().trouble.empty());
}

TEST_F(ReporterTest, CardsThatCannotBeReadAreUnhealthy) {
  server.script("GET", kNode, {reply(200, node_with(dialect::inventory_text(cards(2), {})))});
  server.script("PATCH", kNode, {reply(200)});
  make();
  reporter->set_unreadable();
  ASSERT_TRUE(soon([&] { return writes() == 1; }));
  EXPECT_NE(server.seen("PATCH", kNode)
                .at(0)
                .body.find(quoted(dialect::inventory_text(cards(2, false), {}))),
            std::string::npos);
  reporter->set_cards(cards(2), {});
  ASSERT_TRUE(soon([&] { return writes() == 2; })) << "they are there again";
}

TEST_F(ReporterTest, ANodeThatNeverHadCardsIsLeftAlone) {
  server.script("GET", kNode, {reply(200, R"({"metadata":{"name":"n1"}})")});
  make();
  reporter->set_unreadable();
  run_for(loop, 30ms);
  EXPECT_EQ(writes(), 0U);
}

}  // namespace
}  // namespace stowage::agent
