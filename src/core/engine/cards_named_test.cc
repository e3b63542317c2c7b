// Pods whose cards are unknown until the kubelet reports them.
#include <gtest/gtest.h>

#include "core/engine/engine.h"
#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::node;
using testing::pod;

CardsNamed named(const PodSpec& pod, const std::string& on,
                 const std::vector<std::uint32_t>& cards) {
  CardsNamed event{.uid = pod.uid, .node = on, .containers = pod.containers};
  auto& shares = event.cards.containers.emplace_back();
  for (const std::uint32_t card : cards) {
    shares.push_back(
        {.card = on + "/" + std::to_string(card), .milli = kMilliPerCard, .memory_mib = 16384});
  }
  return event;
}

struct CardsNamedTest : ::testing::Test {
  Engine engine = testing::engine_with("first", {node("a").cards(3)});
  const PodSpec other = pod("other").gpus(1);

  std::string handle(const Event& event) {
    std::string text;
    for (const Command& command : engine.handle(event, {})) {
      if (const auto* bind = std::get_if<Bind>(&command)) {
        text += bind->uid + " " + bind->cards.containers.at(0).at(0).card + ";";
      }
      if (std::holds_alternative<Reject>(command)) text += "rejected;";
    }
    EXPECT_TRUE(engine.audit().empty());
    return text;
  }
  void other_comes() {
    handle(PodSeenBound{.pod = other, .node = "a", .cards = std::nullopt, .placed = 0});
  }
};

TEST_F(CardsNamedTest, CapacityIsFreedWhenTheCardsAreNamed) {
  other_comes();
  EXPECT_EQ(handle(PodPending{pod("p").gpus(1)}), "") << "any card may be the other's";
  EXPECT_EQ(handle(named(other, "a", {0})), "p a/1;");
  EXPECT_EQ(handle(PodPending{pod("q").gpus(1)}), "q a/2;");
  EXPECT_EQ(handle(PodPending{pod("r").gpus(1)}), "");
}

TEST_F(CardsNamedTest, TheKubeletMayCorrectItself) {
  other_comes();
  handle(named(other, "a", {0}));
  EXPECT_EQ(handle(named(other, "a", {0})), "");
  handle(named(other, "a", {2}));
  EXPECT_EQ(handle(PodPending{pod("p").gpus(2)}), "p a/0;");
}

TEST_F(CardsNamedTest, WhatIsKnownOtherwiseStays) {
  const NamedAssignment first{
      .containers = {{{.card = "a/0", .milli = 1000, .memory_mib = 16384}}}};
  handle(PodSeenBound{.pod = other, .node = "a", .cards = first, .placed = 0});
  EXPECT_EQ(handle(named(other, "a", {1})), "");
  EXPECT_EQ(handle(PodPending{pod("p").gpus(1)}), "p a/1;");
}

// The pod was placed on a counted card, which may be any of those that the node lists now.
TEST_F(CardsNamedTest, ACountedCardGetsItsName) {
  PodSeenBound seen{.pod = other, .node = "a", .cards = std::nullopt};
  seen.cards = NamedAssignment{{{{.card = "a/2", .milli = 1000}}}};
  handle(seen);
  NodeSpec listed = node("a").cards(3);
  for (Card& card : listed.cards) card.id = "GPU-" + std::to_string(card.index);
  handle(NodeChanged{listed});
  EXPECT_EQ(handle(PodPending{pod("p").gpus(1)}), "") << "any card may be the other's";
  CardsNamed event = named(other, "a", {0});
  event.cards.containers[0][0].card = "GPU-0";
  EXPECT_EQ(handle(event), "p GPU-1;");
  event.cards.containers[0][0].card = "GPU-2";
  handle(event);
  EXPECT_EQ(handle(PodPending{pod("q").gpus(1)}), "q GPU-0;") << "the kubelet corrects itself";
}

TEST_F(CardsNamedTest, TheStatusOfThePodChangesNothing) {
  other_comes();
  handle(named(other, "a", {1}));
  other_comes();
  EXPECT_EQ(handle(PodPending{pod("p").gpus(1)}), "p a/0;");
  handle(PodGone{"other"});
  EXPECT_EQ(handle(PodPending{pod("q").gpus(2)}), "q a/1;");
}

TEST_F(CardsNamedTest, AnotherSaysWhatTheKubeletSaid) {
  other_comes();
  handle(named(other, "a", {1}));
  const NamedAssignment third{
      .containers = {{{.card = "a/2", .milli = 1000, .memory_mib = 16384}}}};
  handle(PodSeenBound{.pod = other, .node = "a", .cards = third, .placed = 0});
  EXPECT_EQ(handle(PodPending{pod("p").gpus(2)}), "p a/0;");
  handle(named(other, "a", {1}));
  EXPECT_EQ(engine.ledger().nodes().debts().size(), 0U);
}

TEST_F(CardsNamedTest, WhatMakesNoSenseChangesNothing) {
  other_comes();
  EXPECT_EQ(handle(named(other, "b", {0})), "") << "it is elsewhere";
  EXPECT_EQ(handle(named(pod("nobody").gpus(1), "a", {0})), "");
  EXPECT_EQ(handle(named(other, "a", {7})), "") << "there is no such card";
  CardsNamed two = named(other, "a", {0});
  two.cards.containers.emplace_back();
  EXPECT_EQ(handle(two), "rejected;");
  EXPECT_EQ(handle(PodPending{pod("p").gpus(1)}), "") << "still unknown";
}

}  // namespace
}  // namespace stowage::core
