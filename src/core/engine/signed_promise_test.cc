// Promises that a leader before us has signed: the scheduler of the pod may bind it by them at any
// moment, whatever has happened to the cards since.
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

PodHeld promise(const std::string& uid, const std::string& on, const std::string& id) {
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

class SignedPromise : public ::testing::Test {
 protected:
  SignedPromise() { (void)tell(NodeChanged{node("a").cards(1)}); }
  ~SignedPromise() override { EXPECT_TRUE(engine_.audit().empty()); }

  Commands tell(const Event& event) { return engine_.handle(event, {}); }
  ClaimAnswer claim(const std::string& uid) {
    Commands out;
    return engine_.claim({.pod = pod(uid).gpus(1), .node = "a"}, {}, out);
  }
  void bound(const std::string& uid) {
    (void)tell(PodSeenBound{.pod = pod(uid).gpus(1), .node = "a", .cards = card("a/0")});
  }

  Engine engine_ = engine_with("tightest", {});
};

TEST_F(SignedPromise, OfACardThatIsTakenIsHeldForWhenItIsFree) {
  bound("other");
  (void)tell(promise("p", "a", "a/0"));
  EXPECT_EQ(engine_.counters().held, 1U);
  EXPECT_EQ(binds(tell(PodPending{pod("waits").gpus(1)})), 0U);
  EXPECT_EQ(binds(tell(PodGone{"other"})), 0U) << "p may be bound to it";
  EXPECT_EQ(binds(tell(HoldEnded{"p"})), 1U);
}

// Who asks before it binds is not given what another has.
TEST_F(SignedPromise, OfACardThatIsTakenIsNotClaimed) {
  bound("other");
  (void)tell(promise("p", "a", "a/0"));
  EXPECT_FALSE(claim("p").place.has_value());
  EXPECT_EQ(engine_.counters().held, 0U);
}

TEST_F(SignedPromise, OfACardThatIsAwayIsHeldWhenItIsBack) {
  bound("other");
  (void)tell(promise("p", "a", "a/1"));
  EXPECT_EQ(engine_.counters().held, 1U);
  EXPECT_EQ(binds(tell(PodPending{pod("waits").gpus(1)})), 0U);
  EXPECT_EQ(binds(tell(NodeChanged{node("a").cards(2)})), 0U) << "it is p's";
  EXPECT_EQ(binds(tell(NodeChanged{node("a").cards(3)})), 1U);
}

TEST_F(SignedPromise, OfANodeThatIsAwayIsHeldWhenItIsBack) {
  bound("other");
  (void)tell(PodPending{pod("waits").gpus(1)});
  (void)tell(promise("p", "b", "b/0"));
  EXPECT_EQ(binds(tell(NodeChanged{node("b").cards(1)})), 0U) << "its card is p's";
  EXPECT_EQ(binds(tell(PodGone{"p"})), 1U);
}

TEST_F(SignedPromise, OfANodeThatNeverComesLeavesNothingBehind) {
  (void)tell(promise("p", "b", "b/0"));
  (void)tell(HoldEnded{"p"});
  EXPECT_EQ(engine_.counters().held, 0U);
  EXPECT_FALSE(engine_.ledger().find_node("b").valid());
}

// Where a device plugin picks the cards, a number of them is promised.
TEST_F(SignedPromise, OfANumberOfCardsIsHeld) {
  (void)tell(NodeChanged{node("b").cards(3)});
  PodHeld two{.pod = pod("p").gpus(2), .node = "b", .until = kUntilTold, .is_signed = true};
  two.cards.containers.resize(1);
  (void)tell(two);
  EXPECT_EQ(engine_.counters().held, 1U);
  PodSpec counted = pod("q").gpus(2);
  counted.naming = Naming::never;
  EXPECT_EQ(binds(tell(PodPending{counted})), 0U) << "one card is left on b, and one on a";
  EXPECT_EQ(binds(tell(HoldEnded{"p"})), 1U);
}

TEST_F(SignedPromise, OfANumberOfCardsThatAreTakenIsDebt) {
  bound("other");
  PodHeld one{.pod = pod("p").gpus(1), .node = "a", .until = kUntilTold, .is_signed = true};
  one.cards.containers.resize(1);
  (void)tell(one);
  EXPECT_EQ(engine_.counters().held, 1U);
  PodSpec counted = pod("waits").gpus(1);
  counted.naming = Naming::never;
  EXPECT_EQ(binds(tell(PodPending{counted})), 0U);
  EXPECT_EQ(binds(tell(PodGone{"other"})), 0U) << "p may be bound to it";
  EXPECT_EQ(binds(tell(HoldEnded{"p"})), 1U);
}

// Such a pod would be tried again without end.
TEST_F(SignedPromise, OfAPodThatWaitsHereIsNotHeld) {
  bound("other");
  EXPECT_EQ(binds(tell(PodPending{pod("p").gpus(1)})), 0U);
  (void)tell(promise("p", "a", "a/0"));
  EXPECT_EQ(engine_.counters().held, 0U);
  (void)tell(QuotaChanged{});
  EXPECT_EQ(binds(tell(PodGone{"other"})), 1U);
}

}  // namespace
}  // namespace stowage::core
