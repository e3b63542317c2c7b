// Pre-allocations that an earlier leader signed. The pod's scheduler may bind the pod by them at
// any time, whatever has happened to the cards since.
#include <gtest/gtest.h>

#include "core/engine/engine.h"
#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::engine_with;
using testing::node;
using testing::pod;

NamedAssignment card(const std::string& id) {
  return {.containers = {{{.card = id, .milli = 1000, .memory_mib = 16384}}}};
}

PodHeld pre_allocation(const std::string& uid, const std::string& on, const std::string& id) {
  return {.pod = pod(uid).gpus(1),
          .node = on,
          .cards = card(id),
          .until = kUntilTold,
          .is_signed = true};
}

std::size_t binds(const Commands& commands) {
  std::size_t number = 0;
  for (const auto& command : commands) number += std::holds_alternative<Bind>(command) ? 1U : 0U;
  return number;
}

class SignedPreAllocation : public ::testing::Test {
 protected:
  SignedPreAllocation() { (void)handle(NodeChanged{node("a").cards(1)}); }
  ~SignedPreAllocation() override { EXPECT_TRUE(engine_.audit().empty()); }

  Commands handle(const Event& event) { return engine_.handle(event, {}); }
  ReserveAnswer claim(const std::string& uid) {
    Commands out;
    return engine_.reserve({.pod = pod(uid).gpus(1), .node = "a"}, {}, out);
  }
  void bound(const std::string& uid) {
    (void)handle(PodSeenBound{.pod = pod(uid).gpus(1), .node = "a", .cards = card("a/0")});
  }

  Engine engine_ = engine_with("tightest", {});
};

TEST_F(SignedPreAllocation, OfACardThatIsTakenIsHeldForWhenItIsFree) {
  bound("other");
  (void)handle(pre_allocation("p", "a", "a/0"));
  EXPECT_EQ(engine_.counters().held, 1U);
  EXPECT_EQ(binds(handle(PodPending{pod("waits").gpus(1)})), 0U);
  EXPECT_EQ(binds(handle(PodGone{"other"})), 0U) << "p may be bound to it";
  EXPECT_EQ(binds(handle(HoldEnded{"p"})), 1U);
}

// A scheduler that asks before it binds does not get cards that another pod has.
TEST_F(SignedPreAllocation, OfACardThatIsTakenIsNotClaimed) {
  bound("other");
  (void)handle(pre_allocation("p", "a", "a/0"));
  EXPECT_FALSE(claim("p").place.has_value());
  EXPECT_EQ(engine_.counters().held, 0U);
}

TEST_F(SignedPreAllocation, OfACardThatIsAwayIsHeldWhenItIsBack) {
  bound("other");
  (void)handle(pre_allocation("p", "a", "a/1"));
  EXPECT_EQ(engine_.counters().held, 1U);
  EXPECT_EQ(binds(handle(PodPending{pod("waits").gpus(1)})), 0U);
  EXPECT_EQ(binds(handle(NodeChanged{node("a").cards(2)})), 0U) << "it is p's";
  EXPECT_EQ(binds(handle(NodeChanged{node("a").cards(3)})), 1U);
}

TEST_F(SignedPreAllocation, OfANodeThatIsAwayIsHeldWhenItIsBack) {
  bound("other");
  (void)handle(PodPending{pod("waits").gpus(1)});
  (void)handle(pre_allocation("p", "b", "b/0"));
  EXPECT_EQ(binds(handle(NodeChanged{node("b").cards(1)})), 0U) << "its card is p's";
  EXPECT_EQ(binds(handle(PodGone{"p"})), 1U);
}

TEST_F(SignedPreAllocation, OfANodeThatNeverComesLeavesNothingBehind) {
  (void)handle(pre_allocation("p", "b", "b/0"));
  (void)handle(HoldEnded{"p"});
  EXPECT_EQ(engine_.counters().held, 0U);
  EXPECT_FALSE(engine_.ledger().nodes().find("b").valid());
}

// If a device plugin picks the cards, the pre-allocation is a number of cards.
TEST_F(SignedPreAllocation, OfANumberOfCardsIsHeld) {
  (void)handle(NodeChanged{node("b").cards(3)});
  PodHeld two{.pod = pod("p").gpus(2), .node = "b", .until = kUntilTold, .is_signed = true};
  two.cards.containers.resize(1);
  (void)handle(two);
  EXPECT_EQ(engine_.counters().held, 1U);
  PodSpec counted = pod("q").gpus(2);
  counted.naming = Naming::never;
  EXPECT_EQ(binds(handle(PodPending{counted})), 0U) << "one card is left on b, and one on a";
  EXPECT_EQ(binds(handle(HoldEnded{"p"})), 1U);
}

TEST_F(SignedPreAllocation, OfANumberOfCardsThatAreTakenIsDebt) {
  bound("other");
  PodHeld one{.pod = pod("p").gpus(1), .node = "a", .until = kUntilTold, .is_signed = true};
  one.cards.containers.resize(1);
  (void)handle(one);
  EXPECT_EQ(engine_.counters().held, 1U);
  PodSpec counted = pod("waits").gpus(1);
  counted.naming = Naming::never;
  EXPECT_EQ(binds(handle(PodPending{counted})), 0U);
  EXPECT_EQ(binds(handle(PodGone{"other"})), 0U) << "p may be bound to it";
  EXPECT_EQ(binds(handle(HoldEnded{"p"})), 1U);
}

// Such a pod would be tried again endlessly.
TEST_F(SignedPreAllocation, OfAPodThatWaitsHereIsNotHeld) {
  bound("other");
  EXPECT_EQ(binds(handle(PodPending{pod("p").gpus(1)})), 0U);
  (void)handle(pre_allocation("p", "a", "a/0"));
  EXPECT_EQ(engine_.counters().held, 0U);
  (void)handle(QuotaChanged{});
  EXPECT_EQ(binds(handle(PodGone{"other"})), 1U);
}

}  // namespace
}  // namespace stowage::core
