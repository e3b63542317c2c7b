#include "reports/report_cache.h"

#include <rapidcheck.h>
#include <set>

#include <gtest/gtest.h>

namespace stowage::reports {
namespace {

using namespace std::chrono_literals;
using codec::AgentReport;
using codec::ReportedPod;
using codec::ReportedPods;

ReportedPod pod(const std::string& name, const std::vector<std::string>& ids = {"GPU-a"}) {
  return {.ns = "ml",
          .name = name,
          .containers = {{.name = "main", .devices = {{"nvidia.com/gpu", ids}}}}};
}

AgentReport pods(ReportedPods told) {
  AgentReport report;
  report.pods = std::move(told);
  return report;
}

AgentReport cards(int count) {
  AgentReport report;
  report.cards.emplace();
  for (int i = 0; i < count; ++i) {
    report.cards->push_back({.id = "GPU-" + std::to_string(i), .index = i});
  }
  return report;
}

AgentReport plugin(bool registered) {
  AgentReport report;
  report.plugin = {.registered = registered, .resources = {"stowage.dev/attachment"}};
  return report;
}

// The report cache, and its changes as text: "n1 cards health +ml/p -ml/q".
struct ReportCacheTest : ::testing::Test {
  ReportCacheTest() {
    report_cache.listen([this](const NodeReport& node_report, const NodeReportChange& change) {
      std::string words = node_report.node;
      if (change.cards) words += " cards";
      if (change.load) words += " load";
      if (change.health) words += node_report.silent ? " silent" : " fresh";
      if (change.plugin) words += " plugin";
      for (const auto& name : change.pods_now) words += " +" + name;
      for (const auto& name : change.pods_gone) words += " -" + name;
      said.push_back(words);
    });
  }
  void update(const std::string& node, AgentReport report) {
    EXPECT_TRUE(report_cache.update(node, std::move(report), now));
  }
  std::string last() {
    const std::string words = said.empty() ? "" : said.back();
    said.clear();
    return words;
  }

  ReportCache report_cache;
  net::Moment now{1000s};
  std::vector<std::string> said;
};

TEST_F(ReportCacheTest, TheFirstWordMakesANode) {
  EXPECT_EQ(report_cache.node_report("n1"), nullptr);
  update("n1", {.version = 1, .node = "n1", .agent = "0.1.0"});
  EXPECT_EQ(last(), "n1 fresh");
  ASSERT_NE(report_cache.node_report("n1"), nullptr);
  EXPECT_EQ(report_cache.node_report("n1")->agent, "0.1.0");
  update("n1", {});
  EXPECT_EQ(last(), "") << "a beat changes nothing";
}

// As in the original: a node is healthy 2.9 s after its last report, and not 3.1 s after it.
TEST_F(ReportCacheTest, SilenceIsNoticedAndEnds) {
  update("n1", cards(1));
  const net::Moment first = now;
  now = first + 1s;
  update("n2", cards(1));
  said.clear();
  report_cache.look(first + 2900ms);
  EXPECT_EQ(last(), "");
  report_cache.look(first + 3100ms);
  EXPECT_EQ(last(), "n1 silent");
  EXPECT_FALSE(report_cache.node_report("n1")->cards.empty()) << "nobody said that they are gone";
  report_cache.look(first + 3200ms);
  EXPECT_EQ(last(), "") << "told once";
  EXPECT_EQ(report_cache.counters().silent, 1U);
  now = first + 3300ms;
  update("n1", {});
  EXPECT_EQ(last(), "n1 fresh");
  report_cache.look(now);
  EXPECT_EQ(last(), "");
  report_cache.look(first + 4100ms);
  EXPECT_EQ(last(), "n2 silent");
  EXPECT_EQ(report_cache.counters().silences, 2U);
}

TEST_F(ReportCacheTest, CardsAreToldWhenTheyDiffer) {
  update("n1", cards(2));
  EXPECT_EQ(last(), "n1 cards fresh");
  update("n1", cards(2));
  EXPECT_EQ(last(), "");
  AgentReport unhealthy = cards(2);
  unhealthy.cards->at(1).healthy = false;
  update("n1", unhealthy);
  EXPECT_EQ(last(), "n1 cards");
}

TEST_F(ReportCacheTest, ThePluginStaysUntilALineOrAFirstLineChangesIt) {
  const auto kept = [&] { return report_cache.node_report("n1")->plugin; };
  AgentReport hello = plugin(false);
  hello.version = 1;
  update("n1", hello);
  EXPECT_EQ(last(), "n1 fresh plugin");
  ASSERT_TRUE(kept());
  EXPECT_FALSE(kept()->registered);
  EXPECT_EQ(report_cache.counters().plugins_missing, 1U);
  update("n1", plugin(true));
  EXPECT_EQ(last(), "n1 plugin");
  EXPECT_EQ(report_cache.counters().plugins_missing, 0U);
  EXPECT_EQ(report_cache.counters().plugins_registered, 1U);
  EXPECT_TRUE(kept()->registered);
  update("n1", plugin(true));
  EXPECT_EQ(last(), "");
  update("n1", {});
  EXPECT_EQ(last(), "");
  EXPECT_EQ(*kept(), *plugin(true).plugin);
  const std::size_t with = report_cache.counters().bytes;
  update("n1", {.version = 1, .node = "n1"});
  EXPECT_EQ(last(), "n1 plugin") << "an agent without a plugin has started";
  EXPECT_FALSE(kept());
  EXPECT_LT(report_cache.counters().bytes, with);
  update("n1", plugin(true));
  report_cache.forget("n1");
  EXPECT_EQ(last(), "n1 cards fresh plugin");
  EXPECT_EQ(report_cache.counters().plugins_registered, 0U);
}

TEST_F(ReportCacheTest, ThePluginOfAnAgentThatIsGoneIsForgotten) {
  update("n1", plugin(false));
  update("n2", cards(1));
  const net::Moment first = now;
  report_cache.look(first + 10s);
  report_cache.look(first + 299s);
  said.clear();
  EXPECT_TRUE(report_cache.node_report("n1")->plugin) << "it may be restarting";
  report_cache.look(first + 301s);
  EXPECT_EQ(said, std::vector<std::string>{"n1 plugin"}) << "n2 has none";
  EXPECT_FALSE(report_cache.node_report("n1")->plugin);
  EXPECT_EQ(report_cache.counters().silent, 2U);
  said.clear();
  now = first + 400s;
  update("n1", plugin(true));
  EXPECT_EQ(last(), "n1 fresh plugin");
  EXPECT_EQ(report_cache.counters().silent, 1U);
  report_cache.forget("n2");
  report_cache.forget("n1");
  EXPECT_EQ(report_cache.counters().silent, 0U);
  EXPECT_EQ(report_cache.counters().bytes, 0U);
}

TEST_F(ReportCacheTest, LoadIsKeptForCardsThatAreThere) {
  update("n1", cards(2));
  AgentReport report;
  report.load = {{.card = 0, .busy_permille = 5}, {.card = 1, .busy_permille = 900}};
  update("n1", report);
  EXPECT_EQ(last(), "n1 load");
  now += 1s;
  report.load = {{.card = 1, .busy_permille = 10}};
  update("n1", report);
  EXPECT_EQ(report_cache.node_report("n1")->load.at(0).at, now - 1s);
  EXPECT_EQ(report_cache.node_report("n1")->load.at(1).at, now);
  EXPECT_EQ(report_cache.node_report("n1")->load.at(1).values.busy_permille, 10);
  update("n1", cards(1));
  EXPECT_EQ(report_cache.node_report("n1")->load.size(), 1U);
}

// In the original, a message about one pod made the server forget all other pods of the node.
TEST_F(ReportCacheTest, OnePodThatGoesIsOnePodThatGoes) {
  update("n1", pods({.all = true, .now = {pod("p1"), pod("p2", {"GPU-b"})}}));
  EXPECT_EQ(last(), "n1 fresh +ml/p1 +ml/p2");
  update("n1", pods({.gone = {"ml/p1"}}));
  EXPECT_EQ(last(), "n1 -ml/p1");
  EXPECT_EQ(report_cache.node_report("n1")->pods.size(), 1U);
  EXPECT_EQ(report_cache.node_report("n1")->pods.count("ml/p2"), 1U);
  update("n1", pods({.gone = {"ml/p1"}}));
  EXPECT_EQ(last(), "");
}

TEST_F(ReportCacheTest, PodsChangeComeAndGo) {
  update("n1", pods({.all = true, .now = {pod("p1")}}));
  said.clear();
  update("n1", pods({.now = {pod("p2")}}));
  EXPECT_EQ(last(), "n1 +ml/p2");
  update("n1", pods({.now = {pod("p2", {"GPU-c"})}}));
  EXPECT_EQ(last(), "n1 +ml/p2") << "other cards";
  update("n1", pods({.now = {pod("p2", {"GPU-c"})}}));
  EXPECT_EQ(last(), "") << "the same once more";
  update("n1", pods({.now = {pod("p1", {"GPU-d"})}, .gone = {"ml/p1"}}));
  EXPECT_EQ(last(), "n1 +ml/p1") << "it went and came again between two looks";
  update("n1", pods({.all = true, .now = {pod("p3")}}));
  EXPECT_EQ(last(), "n1 +ml/p3 -ml/p1 -ml/p2");
  update("n1", pods({.all = true}));
  EXPECT_EQ(last(), "n1 -ml/p3");
  EXPECT_EQ(report_cache.counters().pods, 0U);
}

TEST_F(ReportCacheTest, ANodeIsForgottenWithItsPods) {
  update("n1", cards(1));
  update("n1", pods({.all = true, .now = {pod("p1")}}));
  said.clear();
  report_cache.forget("n1");
  EXPECT_EQ(last(), "n1 cards fresh -ml/p1");
  EXPECT_EQ(report_cache.node_report("n1"), nullptr);
  report_cache.forget("n1");
  EXPECT_EQ(last(), "");
  report_cache.look(now + 10s);
  EXPECT_EQ(last(), "");
}

TEST_F(ReportCacheTest, LimitsPodsAndCardsOfANode) {
  ReportCache small({.pods_max = 2, .cards_max = 1});
  const auto named = [](const std::string& name) { return ReportedPod{.ns = "ml", .name = name}; };
  EXPECT_TRUE(small.update("n1", pods({.now = {named("a"), named("b")}}), now));
  EXPECT_FALSE(small.update("n1", pods({.now = {named("c")}}), now));
  EXPECT_TRUE(small.update("n1", pods({.now = {named("a")}}), now)) << "one that is there";
  EXPECT_EQ(small.node_report("n1")->pods.size(), 2U);
  EXPECT_EQ(small.counters().refused, 1U);
  AgentReport load;
  load.load = {{.card = 1}, {.card = 2}};
  EXPECT_TRUE(small.update("n1", load, now));
  EXPECT_EQ(small.node_report("n1")->load.size(), 1U);
}

TEST_F(ReportCacheTest, LimitsTheNumberOfNodes) {
  ReportCache small({.nodes_max = 2});
  EXPECT_TRUE(small.update("a", {}, now));
  EXPECT_TRUE(small.update("b", {}, now));
  EXPECT_FALSE(small.update("c", {}, now));
  EXPECT_TRUE(small.update("a", {}, now));
  small.forget("b");
  EXPECT_TRUE(small.update("c", {}, now));
  EXPECT_EQ(small.counters().refused, 1U);
}

ReportedPod large(const std::string& name, std::size_t bytes) {
  ReportedPod made{.ns = "ml", .name = name, .containers = {}};
  for (std::size_t i = 0; i < bytes / 1000; ++i) {
    made.containers.push_back({.name = std::string(500, 'x'), .devices = {}});
  }
  return made;
}

TEST_F(ReportCacheTest, ANodeHasABudgetOfBytes) {
  ReportCache small({.node_bytes_max = 100'000});
  ASSERT_TRUE(small.update("n1", pods({.now = {large("a", 40'000)}}), now));
  const std::size_t used = small.counters().bytes;
  EXPECT_GE(used, 20'000U);
  std::string words;
  for (int i = 0; i < 60; ++i) {  // the same again under other names, in many reports
    const Status heard =
        small.update("n1", pods({.now = {large("b" + std::to_string(i), 40'000)}}), now);
    if (!heard) words = heard.error().message;
  }
  EXPECT_LE(small.counters().bytes, 100'000U);
  EXPECT_GT(small.counters().refused_node_bytes, 50U);
  EXPECT_NE(words.find("100000 bytes"), std::string::npos) << words;
  EXPECT_TRUE(small.update("n2", pods({.now = {large("a", 40'000)}}), now)) << "another node";
  ASSERT_TRUE(small.update("n1", pods({.all = true, .now = {large("a", 40'000)}}), now));
  small.forget("n2");
  EXPECT_EQ(small.counters().bytes, used) << "what has gone counts no more";
  EXPECT_FALSE(small.update("n1", pods({.now = {large("a", 400'000)}}), now)) << "one that grows";
  EXPECT_EQ(small.node_report("n1")->pods.at("ml/a"), large("a", 40'000)) << "is as it was";
  small.forget("n1");
  EXPECT_EQ(small.counters().bytes, 0U);
}

TEST_F(ReportCacheTest, AllNodesHaveABudgetAndWhoTellsLittleIsHeard) {
  ReportCache small({.nodes_max = 50, .bytes_max = 250'000});  // an equal part: 5,000
  for (int i = 0; i < 20; ++i) {
    (void)small.update("large-" + std::to_string(i), pods({.now = {large("a", 60'000)}}), now);
  }
  EXPECT_GT(small.counters().refused_bytes, 10U);
  EXPECT_LE(small.counters().bytes, 250'000U + 20 * 5'000U);
  for (int i = 0; i < 20; ++i) {
    const auto heard = small.update("small-" + std::to_string(i), pods({.now = {pod("p")}}), now);
    EXPECT_TRUE(heard) << heard.error().message;
  }
}

// For any reports in any order: the report cache has the same content as a set, the reported
// changes add up to it, and exactly the nodes without recent reports are silent.
TEST(ReportCacheProperty, ListenersKnowWhatTheBookKnows) {
  rc::check([] {
    ReportCache report_cache;
    std::set<std::string> by_cache;
    std::set<std::string> by_listener;
    std::set<std::string> silent;
    std::map<std::string, net::Moment> heard;
    report_cache.listen([&](const NodeReport& node_report, const NodeReportChange& change) {
      for (const auto& name : change.pods_now) by_listener.insert(node_report.node + name);
      for (const auto& name : change.pods_gone) {
        RC_ASSERT(by_listener.erase(node_report.node + name) == 1U);
      }
      if (!change.health) return;
      silent.erase(node_report.node);
      if (node_report.silent) silent.insert(node_report.node);
    });
    net::Moment now{1000s};
    for (int step = 0; step < 60; ++step) {
      now += std::chrono::milliseconds{*rc::gen::inRange(0, 1500)};
      const std::string node = "n" + std::to_string(*rc::gen::inRange(0, 3));
      const int what = *rc::gen::inRange(0, 10);
      if (what == 0) {
        report_cache.forget(node);
        heard.erase(node);
        silent.erase(node);
      } else if (what < 4) {
        report_cache.look(now);
        for (const auto& [name, at] : heard)
          RC_ASSERT((now - at > 3s) == (silent.count(name) == 1));
      } else {
        ReportedPods told{.all = what == 4};
        for (int i = 0; i < *rc::gen::inRange(0, 3); ++i) {
          told.now.push_back(pod("p" + std::to_string(*rc::gen::inRange(0, 4))));
        }
        for (int i = 0; i < *rc::gen::inRange(0, 2); ++i) {
          told.gone.push_back("ml/p" + std::to_string(*rc::gen::inRange(0, 4)));
        }
        RC_ASSERT(report_cache.update(node, pods(told), now).has_value());
        heard[node] = now;
      }
      by_cache.clear();
      for (const NodeReport* node_report : report_cache.node_reports()) {
        for (const auto& [name, told] : node_report->pods)
          by_cache.insert(node_report->node + name);
      }
      RC_ASSERT(by_cache == by_listener);
      RC_ASSERT(report_cache.counters().pods == by_cache.size());
    }
    for (const char* node : {"n0", "n1", "n2"}) report_cache.forget(node);
    RC_ASSERT(report_cache.counters().bytes == 0U);
  });
}

}  // namespace
}  // namespace stowage::reports
