// Pods of an outside scheduler: filter, score, reserve, and the life of their holds.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/engine/engine.h"
#include "core/testing/builders.h"
#include "core/testing/random.h"

namespace stowage::core {
namespace {

using testing::engine_with;
using testing::node;
using testing::pod;

constexpr std::int64_t kSecond = 1'000'000'000;

class ExternalPodsTest : public ::testing::Test {
 protected:
  void start(const std::string& policy, const std::vector<NodeSpec>& nodes) {
    engine_ = engine_with(policy, {});
    names_.clear();
    for (const auto& n : nodes) {
      (void)engine_.handle(NodeChanged{n}, now_);
      names_.push_back(n.name);
    }
  }
  FilterAnswer filter(const PodSpec& spec, HoldMode keep = HoldMode::hold) {
    return engine_.filter({.pod = spec, .nodes = names_, .keep = keep, .until = in(30)}, now_,
                          out_);
  }
  Scores score(const PodSpec& spec) {
    return engine_.score({.pod = spec, .nodes = names_, .until = in(30)}, now_, out_).scores;
  }
  ReserveAnswer claim(const PodSpec& spec, const std::string& on) {
    return engine_.reserve({.pod = spec, .node = on}, now_, out_);
  }
  [[nodiscard]] base::Instant in(std::int64_t seconds) const {
    return {now_.ns + seconds * kSecond};
  }
  Commands handle(const Event& event) { return engine_.handle(event, now_); }
  // "a,b": the nodes on which the pod fits.
  std::string fits(const PodSpec& spec, HoldMode keep = HoldMode::hold) {
    std::string text;
    for (const auto position : filter(spec, keep).fits) {
      text += (text.empty() ? "" : ",") + names_[position];
    }
    return text;
  }

  Engine engine_{PolicyOptions{}};
  std::vector<std::string> names_;
  base::Instant now_{1000};
  Commands out_;
};

PodSpec whole(const std::string& uid, int cards = 1) { return pod(uid).gpus(cards); }

TEST_F(ExternalPodsTest, AHoldIsCapacityThatOtherPodsDoNotGet) {
  start("binpack", {node("a").cards(1), node("b").cards(1)});
  EXPECT_EQ(fits(whole("p")), "a,b");
  EXPECT_EQ(fits(whole("q")), "b") << "a's card is held for p";
  EXPECT_EQ(fits(whole("r")), "") << "both are held";
  EXPECT_EQ(fits(whole("p")), "a") << "b's card is held for q, its own hold is in nobody's way";
}

TEST_F(ExternalPodsTest, ANominatedPodGetsItsNominatedCapacity) {
  start("binpack", {node("a").cards(1)});
  ASSERT_EQ(fits(whole("low"), HoldMode::nothing), "a");
  (void)handle(PodNominated{.pod = pod("p").gpus(1).priority(5), .node = "a"});
  EXPECT_EQ(fits(whole("low")), "") << "the card is kept for p";
  EXPECT_EQ(fits(pod("p").gpus(1).priority(5), HoldMode::nothing), "a");
  EXPECT_EQ(fits(whole("low")), "") << "still";
  EXPECT_EQ(fits(pod("p").gpus(1).priority(5)), "a");
  EXPECT_EQ(engine_.counters().nominations, 0U) << "a hold has taken its place";
  EXPECT_TRUE(claim(pod("p").gpus(1).priority(5), "a").place.has_value());
  EXPECT_TRUE(engine_.audit().empty());
}

TEST_F(ExternalPodsTest, APlaceIsHeldUntilItIsGivenUpHoweverThatCame) {
  start("binpack", {node("a").cards(2).memory_mib(16384)});
  const PodSpec external = whole("guest");
  const CardPlacement place = *filter(external).held;
  EXPECT_TRUE(engine_.holds("guest", place));
  EXPECT_FALSE(engine_.holds("other", place));
  CardPlacement elsewhere = place;
  elsewhere.cards.containers[0][0].card = "another";
  EXPECT_FALSE(engine_.holds("guest", elsewhere));
  (void)handle(StandDown{});
  (void)handle(Lead{});
  EXPECT_FALSE(engine_.holds("guest", place)) << "of an earlier term";
  EXPECT_EQ(*filter(external).held, place);
  EXPECT_TRUE(engine_.holds("guest", place));
  now_ = in(31);
  (void)handle(Tick{});
  EXPECT_FALSE(engine_.holds("guest", place));
}

TEST_F(ExternalPodsTest, AHoldRunsOutAndALateBindIsCheckedAgain) {
  start("binpack", {node("a").cards(1)});
  EXPECT_EQ(fits(whole("p")), "a");
  now_ = in(31);
  (void)handle(Tick{});
  EXPECT_EQ(engine_.counters().held, 0U);
  EXPECT_EQ(engine_.counters().holds_expired, 1U);
  EXPECT_TRUE(claim(whole("p"), "a").place.has_value()) << "late, but there is room";
  now_ = in(100);
  (void)handle(Tick{});
  EXPECT_EQ(engine_.counters().held, 1U) << "what is claimed does not run out";
}

TEST_F(ExternalPodsTest, ALateBindFindsItsCardTaken) {
  start("binpack", {node("a").cards(1)});
  EXPECT_EQ(fits(whole("p")), "a");
  now_ = in(31);
  (void)handle(Tick{});
  EXPECT_EQ(fits(whole("q")), "a");
  const ReserveAnswer late = claim(whole("p"), "a");
  EXPECT_FALSE(late.place.has_value());
  EXPECT_EQ(late.reason.code, ReasonCode::cards);
  EXPECT_TRUE(claim(whole("q"), "a").place.has_value());
}

TEST_F(ExternalPodsTest, TheBindMayGoToAnotherNodeThanTheHold) {
  start("binpack", {node("a").cards(1), node("b").cards(1)});
  EXPECT_EQ(fits(whole("p")), "a,b");
  EXPECT_TRUE(claim(whole("p"), "b").place.has_value());
  EXPECT_EQ(fits(whole("q")), "a") << "the hold on a is gone with the claim on b";
}

TEST_F(ExternalPodsTest, AFailedBindGivesTheCardsBack) {
  start("binpack", {node("a").cards(1)});
  (void)filter(whole("p"));
  ASSERT_TRUE(claim(whole("p"), "a").place.has_value());
  EXPECT_EQ(fits(whole("q")), "");
  (void)handle(BindFailed{"p"});
  EXPECT_EQ(fits(whole("q")), "a");
  EXPECT_EQ(engine_.counters().held, 1U);
}

TEST_F(ExternalPodsTest, ClaimingTwiceGivesTheSameCards) {
  start("binpack", {node("a").cards(2)});
  const auto first = claim(whole("p"), "a");
  const auto second = claim(whole("p"), "a");
  ASSERT_TRUE(first.place && second.place);
  EXPECT_EQ(*first.place, *second.place);
  EXPECT_FALSE(first.again);
  EXPECT_TRUE(second.again);
  EXPECT_EQ(engine_.ledger().pods().count(), 1U);
}

TEST_F(ExternalPodsTest, APodThatIsBeingBoundIsNotFilteredAgain) {
  start("binpack", {node("a").cards(2), node("b").cards(2)});
  ASSERT_TRUE(claim(whole("p"), "a").place.has_value());
  EXPECT_EQ(filter(whole("p")).binding_to, "a");
  EXPECT_EQ(claim(whole("p"), "b").bound_to, "a");
  EXPECT_EQ(score(whole("p")), (Scores{10, 0}));
}

TEST_F(ExternalPodsTest, ADryRunLeavesNoTrace) {
  start("binpack", {node("a").cards(1), node("b").cards(1)});
  EXPECT_EQ(fits(whole("p"), HoldMode::nothing), "a,b");
  EXPECT_EQ(engine_.counters().held, 0U);
  EXPECT_EQ(fits(whole("p")), "a,b");
  EXPECT_EQ(fits(whole("p"), HoldMode::nothing), "a,b") << "its own hold does not count";
  EXPECT_EQ(engine_.counters().held, 1U);
  EXPECT_EQ(fits(whole("q")), "b") << "p's hold is still on a";
  EXPECT_TRUE(engine_.ledger().audit().empty());
}

TEST_F(ExternalPodsTest, OneNodeIsAnsweredWhereOneIsAskedFor) {
  start("tightest", {node("a").cards(2), node("b").cards(1)});
  const FilterAnswer answer = filter(whole("p"), HoldMode::one);
  ASSERT_EQ(answer.fits.size(), 1U);
  EXPECT_EQ(names_[answer.fits[0]], "b");
  ASSERT_EQ(answer.refused.size(), 1U);
  EXPECT_EQ(answer.refused[0].reason.code, ReasonCode::none);
  ASSERT_TRUE(answer.held.has_value());
  EXPECT_EQ(answer.held->node, "b");
}

TEST_F(ExternalPodsTest, UnknownNodesAreReportedAsUnknown) {
  start("binpack", {node("a").cards(1)});
  names_.emplace_back("ghost");
  const FilterAnswer answer = filter(whole("p"));
  ASSERT_EQ(answer.refused.size(), 1U);
  EXPECT_TRUE(answer.refused[0].unknown);
  EXPECT_TRUE(claim(whole("q"), "ghost").unknown);
}

TEST_F(ExternalPodsTest, OnlyCardsAreJudged) {
  start("binpack", {node("a").cards(1).cpu_milli(1000)});
  PodSpec p = pod("p").gpus(1).cpu_milli(64'000);
  p.rules.selector["zone"] = "elsewhere";
  EXPECT_EQ(fits(p), "a") << "processors and labels are the outside scheduler's business";
  EXPECT_TRUE(claim(p, "a").place.has_value());
}

TEST_F(ExternalPodsTest, ScoresFollowTheOrderOfThePolicy) {
  start("most-free", {node("a").cards(1), node("b").cards(4), node("c").cards(2),
                      node("d").cards(4), node("e")});
  EXPECT_EQ(score(whole("p")), (Scores{1, 10, 5, 10, 0}));
}

TEST_F(ExternalPodsTest, PodsOfBothSchedulersShareOneTruth) {
  start("binpack", {node("a").cards(1)});
  EXPECT_EQ(fits(whole("guest")), "a");
  const Commands refused = handle(PodPending{whole("ours")});
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Refuse>(refused[0]));
  now_ = in(31);
  const Commands bound = handle(Tick{.parked = false});
  ASSERT_EQ(bound.size(), 1U) << "the hold ran out, and the pod that waited gets the card";
  EXPECT_EQ(std::get<Bind>(bound[0]).uid, "ours");
  EXPECT_EQ(fits(whole("guest")), "");
}

TEST_F(ExternalPodsTest, AHoldThatMovesFreesCapacityForWaitingPods) {
  start("binpack", {node("a").cards(1), node("b").cards(1)});
  EXPECT_EQ(fits(whole("guest")), "a,b");
  (void)handle(PodPending{pod("ours").gpus(1).card_id("a/0")});
  names_ = {"b"};
  out_.clear();
  EXPECT_EQ(fits(whole("guest")), "b");
  ASSERT_EQ(out_.size(), 1U);
  EXPECT_EQ(std::get<Bind>(out_[0]).node, "a");
}

TEST_F(ExternalPodsTest, APreAllocationIsHeldAfterARestart) {
  start("tightest", {node("a").cards(2)});
  const NamedAssignment second{
      .containers = {{{.card = "a/1", .milli = 1000, .memory_mib = 16384}}}};
  (void)handle(PodHeld{.pod = whole("p"), .node = "a", .cards = second, .until = in(10)});
  EXPECT_EQ(engine_.counters().held, 1U);
  const auto other = claim(whole("q"), "a");
  ASSERT_TRUE(other.place.has_value());
  EXPECT_EQ(other.place->cards.containers[0][0].card, "a/0");
  EXPECT_FALSE(claim(whole("r"), "a").place.has_value());
  const auto mine = claim(whole("p"), "a");
  ASSERT_TRUE(mine.place.has_value());
  EXPECT_EQ(mine.place->cards, second);
}

TEST_F(ExternalPodsTest, APreAllocationOfCardsThatAreTakenIsIgnored) {
  start("tightest", {node("a").cards(1)});
  ASSERT_TRUE(claim(whole("q"), "a").place.has_value());
  const NamedAssignment first{
      .containers = {{{.card = "a/0", .milli = 1000, .memory_mib = 16384}}}};
  (void)handle(PodHeld{.pod = whole("p"), .node = "a", .cards = first, .until = in(10)});
  (void)handle(PodHeld{.pod = whole("s"), .node = "nowhere", .cards = first, .until = in(10)});
  EXPECT_EQ(engine_.counters().held, 1U);
  EXPECT_TRUE(engine_.ledger().audit().empty());
}

TEST_F(ExternalPodsTest, ANominationYieldsToAPreAllocation) {
  start("tightest", {node("a").cards(1)});
  (void)handle(PodNominated{.pod = pod("n").gpus(1).priority(5), .node = "a"});
  const NamedAssignment first{
      .containers = {{{.card = "a/0", .milli = 1000, .memory_mib = 16384}}}};
  (void)handle(PodHeld{.pod = whole("p"), .node = "a", .cards = first, .until = in(10)});
  EXPECT_TRUE(engine_.holds("p", {.node = "a", .cards = first}));
  EXPECT_EQ(engine_.counters().nominations, 1U) << "n waits for what is left";
  EXPECT_TRUE(engine_.audit().empty());
}

TEST_F(ExternalPodsTest, AHoldEndsWhenItsPodIsOnNoNodeUnlessItIsClaimed) {
  start("tightest", {node("a").cards(2)});
  ASSERT_EQ(fits(whole("p")), "a");
  ASSERT_TRUE(claim(whole("q"), "a").place.has_value());
  for (const char* uid : {"p", "q", "nobody"}) (void)handle(HoldEnded{uid});
  EXPECT_EQ(engine_.counters().held, 1U);
  EXPECT_TRUE(claim(whole("q"), "a").again);
}

TEST_F(ExternalPodsTest, AHoldFollowsItsCardToAnotherPlaceOnTheNode) {
  start("binpack", {node("a").cards(2)});
  PodSpec p = pod("p").gpus(1).card_id("a/1");
  ASSERT_EQ(fits(p), "a");
  NodeSpec turned = node("a").cards(2);
  std::swap(turned.cards[0], turned.cards[1]);  // the same cards in a different order
  (void)handle(NodeChanged{turned});
  const auto place = claim(p, "a").place;
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->cards.containers[0][0].card, "a/1");
  EXPECT_TRUE(engine_.ledger().audit().empty());
}

TEST_F(ExternalPodsTest, AHoldOnARemovedCardEnds) {
  start("binpack", {node("a").cards(2)});
  PodSpec p = pod("p").gpus(1).card_id("a/1");
  ASSERT_EQ(fits(p), "a");
  (void)handle(NodeChanged{node("a").cards(1)});
  EXPECT_FALSE(claim(p, "a").place.has_value());
  EXPECT_EQ(engine_.counters().held, 0U);
  EXPECT_TRUE(engine_.ledger().audit().empty());
}

TEST_F(ExternalPodsTest, AHoldThatRunsOutGivesItsQuotaToPodsThatWait) {
  start("binpack", {node("a").cards(2), node("b").cards(2)});
  Quotas quotas;
  quotas.namespaces["team"].limits = {{.model = "*", .cards = 1}};
  (void)handle(QuotaChanged{quotas});
  PodSpec external = pod("guest").gpus(1).card_id("a/0");
  external.name = "team/guest";
  ASSERT_EQ(fits(external), "a");
  PodSpec ours = pod("ours").gpus(1).card_id("b/1");
  ours.name = "team/ours";
  (void)handle(PodPending{ours});
  now_ = in(31);
  const Commands bound = handle(Tick{.parked = false});
  ASSERT_EQ(bound.size(), 1U);
  EXPECT_EQ(std::get<Bind>(bound[0]).node, "b");
}

// ---- by number ----------------------------------------------------------------------------------

PodSpec counted(const std::string& uid, int cards) {
  PodSpec spec = whole(uid, cards);
  spec.naming = Naming::never;
  return spec;
}

TEST_F(ExternalPodsTest, UnnamedCardsAreCounted) {
  start("most-free", {node("a").cards(3)});
  (void)handle(PodSeenBound{.pod = whole("other"), .node = "a", .cards = std::nullopt});
  EXPECT_EQ(fits(counted("p", 3), HoldMode::nothing), "");
  EXPECT_EQ(fits(counted("p", 2)), "a");
  EXPECT_EQ(fits(counted("q", 1)), "");
  const auto place = claim(counted("p", 2), "a").place;
  ASSERT_TRUE(place.has_value());
  EXPECT_FALSE(names_cards(place->cards)) << "no card is claimed that we do not control";
  EXPECT_EQ(fits(whole("named", 1)), "") << "and none can be named";
  EXPECT_TRUE(engine_.ledger().audit().empty());
}

TEST_F(ExternalPodsTest, APodMayBeCountedWhereItsCardsCanNotBeNamed) {
  start("binpack", {node("a").cards(2), node("b").cards(2)});
  (void)handle(PodSeenBound{.pod = whole("other"), .node = "a", .cards = std::nullopt});
  PodSpec p = whole("p", 1);
  p.naming = Naming::if_known;
  const auto on_a = claim(p, "a").place;
  ASSERT_TRUE(on_a.has_value());
  EXPECT_FALSE(names_cards(on_a->cards));
  PodSpec q = whole("q", 1);
  q.naming = Naming::if_known;
  const auto on_b = claim(q, "b").place;
  ASSERT_TRUE(on_b.has_value());
  EXPECT_TRUE(names_cards(on_b->cards));
}

TEST_F(ExternalPodsTest, CountingHeedsTheModel) {
  start("most-free", {node("a").cards(2).model("tesla t4").cards(1).model("a100")});
  PodSpec p = counted("p", 2);
  p.containers[0].gpu.filter.models_any = {"Tesla T4"};
  EXPECT_EQ(fits(p), "a");
  PodSpec q = counted("q", 3);
  q.containers[0].gpu.filter.models_any = {"Tesla T4"};
  EXPECT_EQ(fits(q), "");
}

// ---- policy wishes ------------------------------------------------------------------------------

TEST_F(ExternalPodsTest, APodsOwnPolicyGoesBeforeTheProfiles) {
  start("binpack", {node("a").cards(2), node("b").cards(2)});
  ASSERT_TRUE(claim(whole("first"), "a").place.has_value());
  PodSpec p = whole("p");
  EXPECT_EQ(score(p), (Scores{10, 1}));
  p.wish.node = NodePolicy::spread;
  EXPECT_EQ(score(p), (Scores{1, 10}));
}

// ---- quota --------------------------------------------------------------------------------------

TEST_F(ExternalPodsTest, QuotaIsChargedAtTheHold) {
  start("binpack", {node("a").cards(4).model("T4")});
  Quotas quotas;
  quotas.namespaces["team"].limits = {{.model = "t4", .cards = 2}};
  (void)handle(QuotaChanged{quotas});
  const auto of_team = [](const std::string& uid) {
    PodSpec p = whole(uid);
    p.name = "team/" + uid;
    return p;
  };
  EXPECT_EQ(fits(of_team("p")), "a");
  EXPECT_EQ(fits(of_team("q")), "a");
  const FilterAnswer third = filter(of_team("r"));
  ASSERT_EQ(third.refused.size(), 1U);
  EXPECT_EQ(third.refused[0].reason.code, ReasonCode::quota);
  EXPECT_EQ(fits(whole("other")), "a") << "others have no limit";
  (void)handle(PodGone{"p"});
  EXPECT_EQ(fits(of_team("r")), "a");
}

// ---- random events ------------------------------------------------------------------------------

RC_GTEST_PROP(ExternalPodsProperty, NothingIsGivenTwiceAndNothingLeaks,
              (const std::vector<std::pair<std::uint8_t, std::uint16_t>>& steps)) {
  Engine engine = engine_with("binpack", {});
  std::vector<std::string> names;
  for (int n = 0; n < 3; ++n) {
    names.push_back("n" + std::to_string(n));
    (void)engine.handle(NodeChanged{node(names.back()).cards(2)}, {});
  }
  base::Instant now{1};
  for (const auto& [what, seed] : steps) {
    testing::Dice dice(seed);
    const std::string uid = "p" + std::to_string(dice.below(8));
    PodSpec p = dice.one_in(2) ? PodSpec(pod(uid).gpus(1).milli(500)) : whole(uid);
    if (dice.one_in(4)) p = counted(uid, 1);
    const std::string on = names[dice.below(3)];
    Commands out;
    switch (what % 10) {
      case 0:
      case 1: {
        const auto keep = static_cast<HoldMode>(dice.below(3));
        (void)engine.filter({.pod = p, .nodes = names, .keep = keep, .until = {now.ns + 30}}, now,
                            out);
        break;
      }
      case 2:
        (void)engine.score({.pod = p, .nodes = names, .until = {now.ns + 30}}, now, out);
        break;
      case 3: (void)engine.reserve({.pod = p, .node = on}, now, out); break;
      case 4: out = engine.handle(BindFailed{uid}, now); break;
      case 5: out = engine.handle(BindDone{uid}, now); break;
      case 6: out = engine.handle(PodGone{uid}, now); break;
      case 7: out = engine.handle(PodPending{p}, now); break;
      case 8: {
        NodeSpec changed = node(on).cards(2);
        if (dice.one_in(2)) std::swap(changed.cards[0], changed.cards[1]);
        if (dice.one_in(3)) changed.cards.pop_back();
        out = engine.handle(NodeChanged{changed}, now);
        break;
      }
      default: out = engine.handle(Tick{}, now); break;
    }
    now.ns += 7;
    RC_ASSERT(engine.ledger().audit().empty());
    RC_ASSERT(engine.ledger().nodes().debts().empty());
  }
  for (int i = 0; i < 8; ++i) (void)engine.handle(PodGone{"p" + std::to_string(i)}, now);
  RC_ASSERT(engine.ledger().pods().count() == 0U);
  RC_ASSERT(engine.counters().held == 0U);
}

}  // namespace
}  // namespace stowage::core
