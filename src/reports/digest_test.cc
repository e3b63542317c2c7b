#include "reports/digest.h"

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

struct DigestTest : ::testing::Test {
  void hear(const std::string& node, const AgentReport& report) {
    EXPECT_TRUE(book.hear(node, report, now));
  }
  [[nodiscard]] bool soon(std::size_t parcels_in) {
    return run_until(loop, [&] { return parcels.size() >= parcels_in; });
  }

  net::EventLoop loop;
  net::Moment now{1000s};
  Book book;
  std::vector<std::vector<NodeNews>> parcels;
  Digest digest{loop, book, {.every = 5ms, .nodes_max = 3}, [this](std::vector<NodeNews> parcel) {
                  parcels.push_back(std::move(parcel));
                }};
};

TEST_F(DigestTest, ManyChangesAreOneNews) {
  hear("n1", with_cards(2));
  AgentReport load;
  load.load = {{.card = 0, .busy_permille = 100}, {.card = 1}, {.card = 7, .busy_permille = 9}};
  hear("n1", load);
  now += 1s;
  load.load = {{.card = 1, .busy_permille = 300}};
  hear("n1", load);
  hear("n1", with_pod("p", {"GPU-0"}));
  hear("n1", with_pod("p", {"GPU-1"}));
  ASSERT_TRUE(soon(1));
  ASSERT_EQ(parcels[0].size(), 1U);
  const NodeNews& news = parcels[0][0];
  EXPECT_EQ(news.silent, false) << "it is heard for the first time";
  ASSERT_EQ(news.busy.size(), 2U) << "a card that the node does not have says nothing";
  EXPECT_EQ(news.busy[1].card, "GPU-1");
  EXPECT_EQ(news.busy[1].permille, 300);
  EXPECT_EQ(news.measured, now - 1s);
  ASSERT_EQ(news.pods.size(), 1U);
  EXPECT_EQ(news.pods[0].name, "ml/p");
  EXPECT_EQ(news.pods[0].word.at("main"), (std::vector<std::string>{"GPU-1", "hca-0"}));
  run_for(loop, 20ms);
  EXPECT_EQ(parcels.size(), 1U);
}

TEST_F(DigestTest, PodsGoAndNodesFallSilent) {
  hear("n1", with_pod("p", {"GPU-0"}));
  ASSERT_TRUE(soon(1));
  EXPECT_FALSE(parcels[0][0].load_told);
  AgentReport gone;
  gone.pods.emplace().gone = {"ml/p"};
  hear("n1", gone);
  book.look(now + 5s);
  ASSERT_TRUE(soon(2));
  EXPECT_EQ(parcels[1][0].silent, true);
  EXPECT_EQ(parcels[1][0].gone, std::vector<std::string>{"ml/p"});
  hear("n1", with_pod("q", {"GPU-0"}));
  ASSERT_TRUE(soon(3));
  EXPECT_EQ(parcels[2][0].silent, false);
}

TEST_F(DigestTest, SilenceIsSentWhenItChanges) {
  hear("n1", with_cards(1));
  ASSERT_TRUE(soon(1));
  EXPECT_EQ(parcels[0][0].silent, false);
  hear("n1", with_pod("p", {"GPU-0"}));
  ASSERT_TRUE(soon(2));
  EXPECT_EQ(parcels[1][0].silent, std::nullopt);
  book.look(now + 5s);
  ASSERT_TRUE(soon(3));
  EXPECT_EQ(parcels[2][0].silent, true);
  EXPECT_FALSE(parcels[2][0].load_told);
}

TEST_F(DigestTest, NothingIsSentOfANodeThatIsForgotten) {
  hear("n1", with_pod("p", {"GPU-0"}));
  book.forget("n1");
  EXPECT_EQ(digest.waiting(), 0U);
  run_for(loop, 20ms);
  EXPECT_TRUE(parcels.empty());
}

TEST_F(DigestTest, ANodeThatIsNewToTheLedgerIsToldInFull) {
  hear("n1", with_cards(1));
  hear("n1", with_pod("p", {"GPU-0"}));
  hear("n2", with_cards(1));
  ASSERT_TRUE(soon(1));
  digest.tell("n1");
  digest.tell("unknown");
  ASSERT_TRUE(soon(2));
  ASSERT_EQ(parcels[1].size(), 1U);
  EXPECT_EQ(parcels[1][0].node, "n1");
  EXPECT_EQ(parcels[1][0].silent, false);
  EXPECT_TRUE(parcels[1][0].load_told);
  EXPECT_EQ(parcels[1][0].pods.size(), 1U);
}

TEST_F(DigestTest, MuchComesInSeveralParcels) {
  for (int i = 0; i < 8; ++i) hear("n" + std::to_string(i), with_cards(1));
  ASSERT_TRUE(soon(3));
  EXPECT_EQ(parcels[0].size(), 3U);
  EXPECT_EQ(parcels[1].size(), 3U);
  EXPECT_EQ(parcels[2].size(), 2U);
  parcels.clear();
  digest.tell_all();
  ASSERT_TRUE(soon(3));
  EXPECT_EQ(digest.waiting(), 0U);
}

}  // namespace
}  // namespace stowage::reports
