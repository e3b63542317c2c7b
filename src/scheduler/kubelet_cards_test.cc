#include "scheduler/kubelet_cards.h"

#include <gtest/gtest.h>

namespace stowage::scheduler {
namespace {

constexpr std::int64_t kMinute = 60'000'000'000;
const std::string kUid = "u";
const std::string kName = "ns/p";
const core::NodeSpec kNode{.name = "n",
                           .cards = {{.id = "GPU-0", .index = 0}, {.id = "GPU-1", .index = 1}}};

class KubeletCardsTest : public ::testing::Test {
 protected:
  KubeletCards::Finding compare(const core::NodeSpec* node = &kNode) {
    return kubelets_.compare({.uid = kUid, .name = kName, .node = node}, pod_);
  }
  void says(const std::vector<std::string>& devices) {
    kubelets_.set_allocation({.node = kNode.name, .name = kName, .uid = kUid}, {{"main", devices}});
  }
  void set_cards(const std::optional<core::NamedAssignment>& cards) {
    kubelets_.set_cards(pod_, {.spec = spec_, .node = kNode.name, .cards = cards});
  }
  void has(const std::string& card) {
    set_cards(core::NamedAssignment{{{{.card = card, .milli = 1000}}}});
  }

  base::Instant now_{5};
  KubeletCards kubelets_{[this] { return now_; }};
  KubeletCards::Pod pod_;
  core::PodSpec spec_{
      .uid = kUid, .name = kName, .containers = {{.name = "main", .gpu = {.count = 1}}}};
};

TEST_F(KubeletCardsTest, NamesTheCardsOfAPodThatNamesNone) {
  set_cards(std::nullopt);
  EXPECT_EQ(kubelets_.unnamed(), 1U);
  EXPECT_FALSE(compare().cards) << "it has said nothing";
  says({"GPU-1"});
  const auto found = compare();
  ASSERT_TRUE(found.cards);
  EXPECT_EQ(found.cards->uid, kUid);
  EXPECT_EQ(found.cards->node, "n");
  EXPECT_EQ(found.cards->cards.containers.at(0).at(0).card, "GPU-1");
  EXPECT_EQ(kubelets_.unnamed(), 0U);
  EXPECT_EQ(kubelets_.by_kubelet(), 1U);
  kubelets_.forget(pod_);
  EXPECT_EQ(kubelets_.by_kubelet(), 0U);
}

TEST_F(KubeletCardsTest, CountsOnlyOnAKnownNodeAndUntilItForgets) {
  set_cards(std::nullopt);
  says({"GPU-1"});
  EXPECT_FALSE(compare(nullptr).cards);
  const core::NodeSpec other{.name = "m", .cards = kNode.cards};
  EXPECT_FALSE(compare(&other).cards);
  kubelets_.forget_allocation("m", kName);
  kubelets_.forget_allocation("n", "ns/another");
  EXPECT_TRUE(compare().cards);
  kubelets_.forget_allocation("n", kName);
  EXPECT_FALSE(compare().cards);
}

TEST_F(KubeletCardsTest, AWordAboutThePodOfItsNameBeforeCountsWhenTheAgentMustHaveLookedAgain) {
  const std::string before = "before";
  kubelets_.set_allocation({.node = kNode.name, .name = kName, .uid = before},
                           {{"main", {"GPU-1"}}});
  set_cards(std::nullopt);
  const auto confirm = [&] {
    EXPECT_EQ(kubelets_.take_unconfirmed(), std::vector<std::string>{kUid});
    return kubelets_.confirm({.uid = kUid, .name = kName, .node = &kNode}, pod_);
  };
  EXPECT_FALSE(compare().cards);
  EXPECT_FALSE(compare().cards);
  EXPECT_TRUE(kubelets_.take_unconfirmed().empty());
  now_.ns += kMinute;
  EXPECT_FALSE(confirm().cards) << "its agent is silent";
  kubelets_.set_agent_silent("n", false);
  now_.ns += kMinute;
  EXPECT_TRUE(confirm().cards);
  EXPECT_TRUE(compare().cards) << "and from now on";
  EXPECT_TRUE(kubelets_.take_unconfirmed().empty());
}

TEST_F(KubeletCardsTest, AWordThatCannotBeIsToldOnce) {
  set_cards(std::nullopt);
  says({"GPU-0", "GPU-1"});
  const auto found = compare();
  ASSERT_TRUE(found.notice);
  EXPECT_EQ(found.notice->kind, Notice::Kind::unread_cards);
  EXPECT_EQ(found.notice->ns, "ns");
  EXPECT_EQ(found.notice->name, "p");
  EXPECT_FALSE(compare().notice);
}

TEST_F(KubeletCardsTest, OtherCardsThanThoseItHasAreToldOnceAndCounted) {
  has("GPU-0");
  says({"GPU-0::3"});
  EXPECT_FALSE(compare().notice);
  says({"GPU-1"});
  const auto found = compare();
  ASSERT_TRUE(found.notice);
  EXPECT_EQ(found.notice->kind, Notice::Kind::device_mismatch);
  EXPECT_FALSE(found.cards);
  EXPECT_FALSE(compare().notice);
  EXPECT_EQ(kubelets_.mismatched(), 1U);
  has("GPU-1");
  EXPECT_EQ(kubelets_.mismatched(), 0U);
  EXPECT_FALSE(compare().notice);
}

TEST_F(KubeletCardsTest, CardsThatAreKnownOnceStayKnown) {
  has("GPU-0");
  set_cards(std::nullopt);
  EXPECT_EQ(kubelets_.unnamed(), 0U);
  says({"GPU-0"});
  EXPECT_FALSE(compare().cards) << "there is another word about it";
}

// It was assigned one of a number of cards, not a card that it must have.
TEST_F(KubeletCardsTest, NamesTheCardsOfAPodThatWasAssignedCountedOnes) {
  has("n/1");
  EXPECT_EQ(kubelets_.unnamed(), 0U);
  says({"GPU-1"});
  const auto found = compare();
  EXPECT_FALSE(found.notice);
  ASSERT_TRUE(found.cards);
  EXPECT_EQ(found.cards->cards.containers.at(0).at(0).card, "GPU-1");
  EXPECT_EQ(kubelets_.by_kubelet(), 1U);
  EXPECT_EQ(kubelets_.mismatched(), 0U);
  kubelets_.forget(pod_);
  EXPECT_EQ(kubelets_.by_kubelet(), 0U);
}

TEST_F(KubeletCardsTest, APodThatAsksForNoCardsIsNotCounted) {
  spec_.containers[0].gpu = {};
  set_cards(std::nullopt);
  EXPECT_EQ(kubelets_.unnamed(), 0U);
}

}  // namespace
}  // namespace stowage::scheduler
