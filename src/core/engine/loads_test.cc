#include "core/engine/loads.h"

#include <gtest/gtest.h>

#include "core/engine/engine.h"
#include "core/record/decision.h"
#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using base::Instant;
using testing::node;
using testing::pod;

constexpr std::int64_t kSecond = 1'000'000'000;

CardsMeasured measured(const std::string& on, const std::vector<std::int32_t>& permille,
                       Instant until) {
  CardsMeasured event{.node = on, .until = until};
  for (std::size_t i = 0; i < permille.size(); ++i) {
    event.busy.push_back({on + "/" + std::to_string(i), permille[i]});
  }
  return event;
}

TEST(Loads, AddsUpWhatIsMeasuredAndWhatIsExpected) {
  const NodeSpec two = node("a").cards(2);
  Loads loads;
  EXPECT_TRUE(loads.busy(two).empty());
  loads.measured(measured("a", {500, 1200}, {100}));
  EXPECT_EQ(loads.busy(two), (std::vector<std::uint16_t>{500, 1000}));
  loads.placed("a", "a/0", 300, {50});
  loads.placed("a", "a/0", 300, {60});
  loads.placed("a", "elsewhere", 300, {60});
  EXPECT_EQ(loads.busy(two), (std::vector<std::uint16_t>{1000, 1000}));
  EXPECT_TRUE(loads.expire({49}).empty());
  EXPECT_EQ(loads.expire({50}), std::vector<std::string>{"a"});
  EXPECT_EQ(loads.busy(two), (std::vector<std::uint16_t>{800, 1000}));
  loads.measured(measured("a", {20}, {200}));
  EXPECT_EQ(loads.busy(two), (std::vector<std::uint16_t>{325, kNoLoad})) << "20 is about 25";
  EXPECT_EQ(loads.expire({60}), std::vector<std::string>{"a"});
  EXPECT_EQ(loads.busy(two), (std::vector<std::uint16_t>{25, kNoLoad}));
  EXPECT_TRUE(loads.expire({199}).empty()) << "measured again: the old time does not count";
  EXPECT_EQ(loads.expire({200}), std::vector<std::string>{"a"});
  EXPECT_TRUE(loads.busy(two).empty());
  EXPECT_TRUE(loads.nodes().empty());
}

// A driver of an engine with policy `load` and a clock.
struct LoadPolicy : ::testing::Test {
  Engine engine =
      testing::engine_with("load", {node("a").cards(2), node("b").cards(2), node("c").cards(2)});
  Instant now{1000 * kSecond};

  void handle(const Event& event) { (void)engine.handle(event, now); }
  void measure(const std::string& on, const std::vector<std::int32_t>& permille) {
    handle(measured(on, permille, {now.ns + 30 * kSecond}));
  }
  // The node and the first card, e.g. "b 1".
  std::string place(const PodSpec& spec) {
    for (const Command& command : engine.handle(PodPending{spec}, now)) {
      const auto* bind = std::get_if<Bind>(&command);
      if (bind == nullptr) continue;
      handle(BindDone{bind->uid});
      const Assignment cards = testing::on_node(engine, bind->node, bind->cards);
      return bind->node + " " + std::to_string(cards.containers.at(0).at(0).card);
    }
    return "none";
  }
};

TEST_F(LoadPolicy, TheIdleCardOfTheIdleNode) {
  measure("a", {900, 300});
  measure("b", {800, 50});
  measure("c", {400, 400});
  EXPECT_EQ(place(pod("p").gpus(1)), "b 1");
  EXPECT_EQ(place(pod("q").gpus(1)), "a 1") << "b's idle card is taken";
}

// A process that no scheduler placed uses the cards.
TEST_F(LoadPolicy, ACardThatIsFreeAndBusyComesLast) {
  measure("a", {1000, 1000});
  measure("b", {1000, 1000});
  measure("c", {1000, 0});
  EXPECT_EQ(place(pod("p").gpus(1)), "c 1");
}

TEST_F(LoadPolicy, PodsThatComeTogetherDoNotAllGoToOneCard) {
  measure("a", {100, 800});
  measure("b", {200, 800});
  measure("c", {300, 800});
  EXPECT_EQ(place(pod("p").gpus(1).milli(150)), "a 0");
  EXPECT_EQ(place(pod("q").gpus(1).milli(150)), "b 0");
  EXPECT_EQ(place(pod("r").gpus(1).milli(150)), "a 0") << "250 is less than 300 and 350";
  measure("a", {100, 800});
  EXPECT_EQ(place(pod("s").gpus(1).milli(150)), "c 0") << "they do not show in it yet";
  now.ns += 61 * kSecond;
  handle(Tick{});
  measure("a", {100, 800});
  measure("b", {200, 800});
  measure("c", {300, 800});
  EXPECT_EQ(place(pod("t").gpus(1).milli(150)), "a 0") << "what is measured is all there is";
}

TEST_F(LoadPolicy, WhatIsOldDoesNotCount) {
  measure("a", {0, 0});
  now.ns += 29 * kSecond;
  measure("b", {100, 100});
  measure("c", {200, 200});
  handle(Tick{});
  EXPECT_EQ(place(pod("p").gpus(1).milli(500)), "a 0");
  now.ns += 2 * kSecond;
  handle(Tick{});
  EXPECT_EQ(place(pod("q").gpus(1).milli(500)), "a 1")
      << "nobody knows of a: what is given out counts, which is nothing here";
  EXPECT_EQ(place(pod("r").gpus(1).milli(500)), "b 0") << "100 is less than 500";
}

TEST_F(LoadPolicy, WithoutMeasurementsTheEmptiestCards) {
  EXPECT_EQ(place(pod("p").gpus(1).milli(500)), "a 0");
  EXPECT_EQ(place(pod("q").gpus(1).milli(500)), "b 0");
  EXPECT_EQ(place(pod("r").gpus(1).milli(500)), "c 0");
  EXPECT_EQ(place(pod("s").gpus(1).milli(500)), "a 1");
}

TEST_F(LoadPolicy, MeasuredIsPreferredToUnknown) {
  measure("b", {0, 0});
  EXPECT_EQ(place(pod("p").gpus(1)), "b 0");
}

TEST_F(LoadPolicy, CardsKeepTheirLoadWhenTheNodeChanges) {
  measure("a", {900, 0});
  measure("b", {900, 900});
  measure("c", {900, 900});
  NodeSpec swapped = node("a").cards(2);
  std::swap(swapped.cards[0], swapped.cards[1]);
  handle(NodeChanged{swapped});
  EXPECT_EQ(place(pod("p").gpus(1)), "a 0") << "a/1 stands first now";
  handle(NodeGone{"a"});
  handle(NodeChanged{node("a").cards(2)});
  EXPECT_EQ(engine.ledger().nodes().record(engine.ledger().nodes().find("a")).busy.size(), 0U);
}

TEST_F(LoadPolicy, AnUnhealthyCardIsNotUsedEvenIfIdle) {
  measure("a", {0, 0});
  measure("b", {500, 500});
  measure("c", {600, 600});
  handle(NodeChanged{node("a").cards(2).unhealthy()});
  EXPECT_EQ(place(pod("p").gpus(1)), "b 0");
}

TEST_F(LoadPolicy, ARecordOfADecisionKnowsTheLoad) {
  measure("a", {900, 900});
  measure("b", {300, 900});
  measure("c", {900, 900});
  const auto replay = replay_decision(engine.record_decision(pod("p").gpus(1)));
  ASSERT_TRUE(replay) << replay.error().message;
  EXPECT_EQ(replay->recorded, replay->replayed);
  EXPECT_NE(replay->replayed.find("1:b"), std::string::npos) << replay->replayed;
}

// A pod may ask for the policy itself; measurements from before that count too.
TEST(LoadWish, IsHonouredWithWhatIsKnown) {
  Engine engine = testing::engine_with("binpack", {node("a").cards(1), node("b").cards(1)});
  const std::uint64_t before = engine.ledger().changes().count();
  (void)engine.handle(measured("a", {900}, {100}), {0});
  (void)engine.handle(measured("b", {0}, {100}), {0});
  EXPECT_EQ(engine.ledger().changes().count(), before) << "nobody goes by it yet";
  PodSpec wishing = pod("p").gpus(1);
  wishing.wish.node = NodePolicy::load;
  wishing.wish.card = CardPolicy::load;
  const Commands commands = engine.handle(PodPending{wishing}, {0});
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(std::get<Bind>(commands.front()).node, "b");
}

TEST(LoadWish, WhatIsOldIsForgottenWhateverHappens) {
  Engine engine = testing::engine_with("load", {node("a").cards(1), node("b").cards(1)});
  (void)engine.handle(measured("a", {0}, {100}), {0});
  EXPECT_EQ(engine.counters().loads, 1U);
  // No tick comes, because no pod waits.
  (void)engine.handle(PodGone{"nobody"}, {100});
  EXPECT_EQ(engine.counters().loads, 0U);
  (void)engine.handle(measured("a", {0}, {300}), {200});
  (void)engine.handle(StandDown{}, {201});
  EXPECT_EQ(engine.counters().loads, 0U) << "agents tell another one";
  EXPECT_TRUE(engine.ledger().nodes().record(engine.ledger().nodes().find("a")).busy.empty());
}

}  // namespace
}  // namespace stowage::core
