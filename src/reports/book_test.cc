#include "reports/book.h"

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

// The book, and its changes in words: "n1 cards health +ml/p -ml/q".
struct BookTest : ::testing::Test {
  BookTest() {
    book.listen([this](const NodePage& page, const PageChange& change) {
      std::string words = page.node;
      if (change.cards) words += " cards";
      if (change.load) words += " load";
      if (change.health) words += page.silent ? " silent" : " fresh";
      for (const auto& name : change.pods_now) words += " +" + name;
      for (const auto& name : change.pods_gone) words += " -" + name;
      said.push_back(words);
    });
  }
  void hear(const std::string& node, AgentReport report) {
    EXPECT_TRUE(book.hear(node, std::move(report), now));
  }
  std::string last() {
    const std::string words = said.empty() ? "" : said.back();
    said.clear();
    return words;
  }

  Book book;
  net::Moment now{1000s};
  std::vector<std::string> said;
};

TEST_F(BookTest, TheFirstWordMakesANode) {
  EXPECT_EQ(book.page("n1"), nullptr);
  hear("n1", {.version = 1, .node = "n1", .agent = "0.1.0"});
  EXPECT_EQ(last(), "n1 fresh");
  ASSERT_NE(book.page("n1"), nullptr);
  EXPECT_EQ(book.page("n1")->agent, "0.1.0");
  hear("n1", {});
  EXPECT_EQ(last(), "") << "a beat changes nothing";
}

// As the seed has it: 2.9 s after the last word a node is healthy, 3.1 s after it is not.
TEST_F(BookTest, SilenceIsNoticedAndEnds) {
  hear("n1", cards(1));
  const net::Moment first = now;
  now = first + 1s;
  hear("n2", cards(1));
  said.clear();
  book.look(first + 2900ms);
  EXPECT_EQ(last(), "");
  book.look(first + 3100ms);
  EXPECT_EQ(last(), "n1 silent");
  EXPECT_FALSE(book.page("n1")->cards.empty()) << "nobody said that they are gone";
  book.look(first + 3200ms);
  EXPECT_EQ(last(), "") << "told once";
  EXPECT_EQ(book.counters().silent, 1U);
  now = first + 3300ms;
  hear("n1", {});
  EXPECT_EQ(last(), "n1 fresh");
  book.look(now);
  EXPECT_EQ(last(), "");
  book.look(first + 4100ms);
  EXPECT_EQ(last(), "n2 silent");
  EXPECT_EQ(book.counters().silences, 2U);
}

TEST_F(BookTest, CardsAreToldWhenTheyDiffer) {
  hear("n1", cards(2));
  EXPECT_EQ(last(), "n1 cards fresh");
  hear("n1", cards(2));
  EXPECT_EQ(last(), "");
  AgentReport sick = cards(2);
  sick.cards->at(1).healthy = false;
  hear("n1", sick);
  EXPECT_EQ(last(), "n1 cards");
}

TEST_F(BookTest, LoadIsKeptForCardsThatAreThere) {
  hear("n1", cards(2));
  AgentReport report;
  report.load = {{.card = 0, .busy_permille = 5}, {.card = 1, .busy_permille = 900}};
  hear("n1", report);
  EXPECT_EQ(last(), "n1 load");
  now += 1s;
  report.load = {{.card = 1, .busy_permille = 10}};
  hear("n1", report);
  EXPECT_EQ(book.page("n1")->load.at(0).at, now - 1s);
  EXPECT_EQ(book.page("n1")->load.at(1).at, now);
  EXPECT_EQ(book.page("n1")->load.at(1).values.busy_permille, 10);
  hear("n1", cards(1));
  EXPECT_EQ(book.page("n1")->load.size(), 1U);
}

// In the original a message about one pod made the server forget all others of the node.
TEST_F(BookTest, OnePodThatGoesIsOnePodThatGoes) {
  hear("n1", pods({.all = true, .now = {pod("p1"), pod("p2", {"GPU-b"})}}));
  EXPECT_EQ(last(), "n1 fresh +ml/p1 +ml/p2");
  hear("n1", pods({.gone = {"ml/p1"}}));
  EXPECT_EQ(last(), "n1 -ml/p1");
  EXPECT_EQ(book.page("n1")->pods.size(), 1U);
  EXPECT_EQ(book.page("n1")->pods.count("ml/p2"), 1U);
  hear("n1", pods({.gone = {"ml/p1"}}));
  EXPECT_EQ(last(), "");
}

TEST_F(BookTest, PodsChangeComeAndGo) {
  hear("n1", pods({.all = true, .now = {pod("p1")}}));
  said.clear();
  hear("n1", pods({.now = {pod("p2")}}));
  EXPECT_EQ(last(), "n1 +ml/p2");
  hear("n1", pods({.now = {pod("p2", {"GPU-c"})}}));
  EXPECT_EQ(last(), "n1 +ml/p2") << "other cards";
  hear("n1", pods({.now = {pod("p2", {"GPU-c"})}}));
  EXPECT_EQ(last(), "") << "the same once more";
  hear("n1", pods({.now = {pod("p1", {"GPU-d"})}, .gone = {"ml/p1"}}));
  EXPECT_EQ(last(), "n1 +ml/p1") << "it went and came again between two looks";
  hear("n1", pods({.all = true, .now = {pod("p3")}}));
  EXPECT_EQ(last(), "n1 +ml/p3 -ml/p1 -ml/p2");
  hear("n1", pods({.all = true}));
  EXPECT_EQ(last(), "n1 -ml/p3");
  EXPECT_EQ(book.counters().pods, 0U);
}

TEST_F(BookTest, ANodeIsForgottenWithItsPods) {
  hear("n1", cards(1));
  hear("n1", pods({.all = true, .now = {pod("p1")}}));
  said.clear();
  book.forget("n1");
  EXPECT_EQ(last(), "n1 cards fresh -ml/p1");
  EXPECT_EQ(book.page("n1"), nullptr);
  book.forget("n1");
  EXPECT_EQ(last(), "");
  book.look(now + 10s);
  EXPECT_EQ(last(), "");
}

TEST_F(BookTest, HasRoomForSoManyPodsAndCardsOfANode) {
  Book small({.pods_max = 2, .cards_max = 1});
  const auto named = [](const std::string& name) { return ReportedPod{.ns = "ml", .name = name}; };
  EXPECT_TRUE(small.hear("n1", pods({.now = {named("a"), named("b")}}), now));
  EXPECT_FALSE(small.hear("n1", pods({.now = {named("c")}}), now));
  EXPECT_TRUE(small.hear("n1", pods({.now = {named("a")}}), now)) << "one that is there";
  EXPECT_EQ(small.page("n1")->pods.size(), 2U);
  EXPECT_EQ(small.counters().refused, 1U);
  AgentReport load;
  load.load = {{.card = 1}, {.card = 2}};
  EXPECT_TRUE(small.hear("n1", load, now));
  EXPECT_EQ(small.page("n1")->load.size(), 1U);
}

TEST_F(BookTest, HasRoomForSoManyNodes) {
  Book small({.nodes_max = 2});
  EXPECT_TRUE(small.hear("a", {}, now));
  EXPECT_TRUE(small.hear("b", {}, now));
  EXPECT_FALSE(small.hear("c", {}, now));
  EXPECT_TRUE(small.hear("a", {}, now));
  small.forget("b");
  EXPECT_TRUE(small.hear("c", {}, now));
  EXPECT_EQ(small.counters().refused, 1U);
}

ReportedPod large(const std::string& name, std::size_t bytes) {
  ReportedPod made{.ns = "ml", .name = name, .containers = {}};
  for (std::size_t i = 0; i < bytes / 1000; ++i) {
    made.containers.push_back({.name = std::string(500, 'x'), .devices = {}});
  }
  return made;
}

TEST_F(BookTest, ANodeHasABudgetOfBytes) {
  Book small({.node_bytes_max = 100'000});
  ASSERT_TRUE(small.hear("n1", pods({.now = {large("a", 40'000)}}), now));
  const std::size_t used = small.counters().bytes;
  EXPECT_GE(used, 20'000U);
  std::string words;
  for (int i = 0; i < 60; ++i) {  // the same again under other names, in many reports
    const Status heard =
        small.hear("n1", pods({.now = {large("b" + std::to_string(i), 40'000)}}), now);
    if (!heard) words = heard.error().message;
  }
  EXPECT_LE(small.counters().bytes, 100'000U);
  EXPECT_GT(small.counters().refused_node_bytes, 50U);
  EXPECT_NE(words.find("100000 bytes"), std::string::npos) << words;
  EXPECT_TRUE(small.hear("n2", pods({.now = {large("a", 40'000)}}), now)) << "another node";
  ASSERT_TRUE(small.hear("n1", pods({.all = true, .now = {large("a", 40'000)}}), now));
  small.forget("n2");
  EXPECT_EQ(small.counters().bytes, used) << "what has gone counts no more";
  EXPECT_FALSE(small.hear("n1", pods({.now = {large("a", 400'000)}}), now)) << "one that grows";
  EXPECT_EQ(small.page("n1")->pods.at("ml/a"), large("a", 40'000)) << "is as it was";
  small.forget("n1");
  EXPECT_EQ(small.counters().bytes, 0U);
}

TEST_F(BookTest, AllNodesHaveABudgetAndWhoTellsLittleIsHeard) {
  Book small({.nodes_max = 50, .bytes_max = 250'000});  // an equal part: 5,000
  for (int i = 0; i < 20; ++i) {
    (void)small.hear("large-" + std::to_string(i), pods({.now = {large("a", 60'000)}}), now);
  }
  EXPECT_GT(small.counters().refused_bytes, 10U);
  EXPECT_LE(small.counters().bytes, 250'000U + 20 * 5'000U);
  for (int i = 0; i < 20; ++i) {
    const auto heard = small.hear("small-" + std::to_string(i), pods({.now = {pod("p")}}), now);
    EXPECT_TRUE(heard) << heard.error().message;
  }
}

// Whatever is told in whatever order: the book has what a set would have, what listeners were told
// adds up to it, and exactly those are silent who have not been heard.
TEST(BookProperty, ListenersKnowWhatTheBookKnows) {
  rc::check([] {
    Book book;
    std::set<std::string> by_book;
    std::set<std::string> by_listener;
    std::set<std::string> silent;
    std::map<std::string, net::Moment> heard;
    book.listen([&](const NodePage& page, const PageChange& change) {
      for (const auto& name : change.pods_now) by_listener.insert(page.node + name);
      for (const auto& name : change.pods_gone) {
        RC_ASSERT(by_listener.erase(page.node + name) == 1U);
      }
      if (!change.health) return;
      silent.erase(page.node);
      if (page.silent) silent.insert(page.node);
    });
    net::Moment now{1000s};
    for (int step = 0; step < 60; ++step) {
      now += std::chrono::milliseconds{*rc::gen::inRange(0, 1500)};
      const std::string node = "n" + std::to_string(*rc::gen::inRange(0, 3));
      const int what = *rc::gen::inRange(0, 10);
      if (what == 0) {
        book.forget(node);
        heard.erase(node);
        silent.erase(node);
      } else if (what < 4) {
        book.look(now);
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
        RC_ASSERT(book.hear(node, pods(told), now).has_value());
        heard[node] = now;
      }
      by_book.clear();
      for (const NodePage* page : book.pages()) {
        for (const auto& [name, told] : page->pods) by_book.insert(page->node + name);
      }
      RC_ASSERT(by_book == by_listener);
      RC_ASSERT(book.counters().pods == by_book.size());
    }
    for (const char* node : {"n0", "n1", "n2"}) book.forget(node);
    RC_ASSERT(book.counters().bytes == 0U);
  });
}

}  // namespace
}  // namespace stowage::reports
