#include "core/engine/engine.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::node;
using testing::pod;
using testing::policy;

// The commands as text: "bind p a 0,1", "refuse p" or "reject p", joined by "; ".
std::string text_of(const Engine& engine, const Commands& commands) {
  std::string text;
  for (const auto& command : commands) {
    text += text.empty() ? "" : "; ";
    if (const auto* bind = std::get_if<Bind>(&command)) {
      text += "bind " + bind->uid + " " + bind->node;
      for (const auto& container : testing::on_node(engine, bind->node, bind->cards).containers) {
        std::string cards;
        for (const auto& share : container) {
          cards += (cards.empty() ? "" : ",") + std::to_string(share.card);
        }
        text += " " + (cards.empty() ? "-" : cards);
      }
    } else if (const auto* refuse = std::get_if<Refuse>(&command)) {
      text += "refuse " + refuse->uid;
    } else {
      text += "reject " + std::get<Reject>(command).subject;
    }
  }
  return text;
}

class EngineTest : public ::testing::Test {
 protected:
  explicit EngineTest(PolicyOptions options = policy("binpack")) : engine_(std::move(options)) {}

  std::string handle(const Event& event) {
    std::string said = text_of(engine_, engine_.handle(event, now_));
    EXPECT_EQ(engine_.ledger().audit(), std::vector<std::string>{});
    return said;
  }
  std::string pending(const PodSpec& spec) { return handle(PodPending{spec}); }
  std::string gone(const std::string& uid) { return handle(PodGone{uid}); }
  std::string seen(const PodSpec& spec, const std::string& where,
                   const std::optional<Assignment>& cards = std::nullopt) {
    std::optional<NamedAssignment> named;
    if (cards) named = testing::named(where, *cards);
    return handle(PodSeenBound{.pod = spec, .node = where, .cards = named});
  }
  [[nodiscard]] std::size_t waiting() const { return engine_.counters().waiting; }

  static constexpr std::int64_t kSecond = 1'000'000'000;
  Engine engine_;
  base::Instant now_;
};

NodeSpec one_card(const std::string& name) { return node(name).cards(1).memory_mib(1000); }

// ---- the life of a pod --------------------------------------------------------------------------

TEST_F(EngineTest, APodThatFitsIsBoundAndEnds) {
  handle(NodeChanged{one_card("a")});
  EXPECT_EQ(pending(pod("p").gpus(1)), "bind p a 0");
  EXPECT_EQ(engine_.ledger().pods().record(engine_.ledger().pods().find("p")).state,
            PodState::reserved);
  EXPECT_EQ(handle(BindDone{"p"}), "");
  EXPECT_EQ(engine_.ledger().pods().record(engine_.ledger().pods().find("p")).state,
            PodState::bound);
  EXPECT_EQ(gone("p"), "");
  EXPECT_EQ(engine_.ledger().pods().count(), 0U);
}

TEST_F(EngineTest, TheAnswerNamesSharesOfCards) {
  handle(NodeChanged{node("a").cards(2).memory_mib(1000)});
  const Commands commands = engine_.handle(
      PodPending{pod("p").container("x").gpus(1).container("y").milli(300).memory_mib(200)}, {});
  ASSERT_EQ(commands.size(), 1U);
  const Bind expected{
      .uid = "p",
      .node = "a",
      .cards = {.containers = {{{.card = "a/0", .milli = 1000, .memory_mib = 1000}},
                               {{.card = "a/1", .milli = 300, .memory_mib = 200}}}}};
  EXPECT_EQ(std::get<Bind>(commands[0]), expected);
}

// The cards of a pod were read from an older state of the node than the engine has.
TEST_F(EngineTest, CardsAreThoseOfTheirIdsWhereverTheNodeHasThem) {
  NodeSpec spec = node("a").cards(2);
  handle(NodeChanged{spec});
  const NamedAssignment second{
      .containers = {{{.card = "a/1", .milli = 1000, .memory_mib = 16384}}}};
  std::swap(spec.cards[0], spec.cards[1]);
  handle(NodeChanged{spec});
  handle(PodSeenBound{.pod = pod("p").gpus(1), .node = "a", .cards = second});
  EXPECT_EQ(pending(pod("q").gpus(1).card_id("a/1")), "refuse q");
  EXPECT_EQ(pending(pod("r").gpus(1)), "bind r a 1") << "a/0 is there";
  EXPECT_EQ(gone("p"), "bind q a 0");
}

TEST_F(EngineTest, ACardThatTheNodeDoesNotShowYetIsTakenWhenItComes) {
  handle(NodeChanged{one_card("a")});
  const NamedAssignment second{
      .containers = {{{.card = "a/1", .milli = 1000, .memory_mib = 16384}}}};
  handle(PodSeenBound{.pod = pod("p").gpus(1), .node = "a", .cards = second});
  handle(PodSeenBound{.pod = pod("p").gpus(1), .node = "a", .cards = second});  // again
  NodeSpec turned = node("a").cards(2);
  std::swap(turned.cards[0], turned.cards[1]);
  handle(NodeChanged{turned});
  EXPECT_EQ(pending(pod("q").gpus(1)), "bind q a 1") << "a/1 is the first one, and taken";
}

TEST_F(EngineTest, APodThatDoesNotFitIsRefusedOnceAndWaits) {
  EXPECT_EQ(pending(pod("p").gpus(1)), "refuse p") << "there is no node at all";
  handle(NodeChanged{node("a").cards(1).memory_mib(1000).unhealthy()});
  EXPECT_EQ(waiting(), 1U);
  EXPECT_EQ(handle(NodeChanged{one_card("a")}), "bind p a 0");
  EXPECT_EQ(waiting(), 0U);
}

TEST_F(EngineTest, AFailedBindFreesTheCapacityAndBacksOff) {
  handle(NodeChanged{one_card("a")});
  EXPECT_EQ(pending(pod("p").gpus(1).priority(9)), "bind p a 0");
  EXPECT_EQ(pending(pod("q").gpus(1)), "refuse q");
  EXPECT_EQ(handle(BindFailed{"p"}), "bind q a 0") << "p would only fail again";
  EXPECT_EQ(waiting(), 1U);
  EXPECT_EQ(gone("q"), "") << "p rests";
  now_.ns += kSecond;
  EXPECT_EQ(handle(Tick{}), "bind p a 0");
}

TEST_F(EngineTest, AfterAFailedBindAPodRestsLongerEachTime) {
  handle(NodeChanged{one_card("a")});
  pending(pod("p").gpus(1));
  for (const std::int64_t seconds : {1, 2, 4, 8, 10, 10}) {
    EXPECT_EQ(handle(BindFailed{"p"}), "");
    EXPECT_EQ(pending(pod("p").gpus(1)), "") << "an update does not wake it";
    now_.ns += seconds * kSecond - 1;
    EXPECT_EQ(handle(Tick{}), "") << seconds;
    EXPECT_EQ(engine_.counters().resting, 1U);
    now_.ns += 1;
    EXPECT_EQ(handle(Tick{}), "bind p a 0") << seconds;
  }
  handle(BindDone{"p"});
  gone("p");
  pending(pod("p").gpus(1));
  handle(BindFailed{"p"});
  now_.ns += kSecond;
  EXPECT_EQ(handle(Tick{}), "bind p a 0") << "success resets the count";
}

TEST_F(EngineTest, RestedPodsAreTriedInOrderOfPriority) {
  handle(NodeChanged{node("a").cards(2)});
  pending(pod("low").gpus(1));
  pending(pod("high").gpus(1).priority(7));
  handle(BindFailed{"low"});
  handle(BindFailed{"high"});
  handle(NodeChanged{one_card("a")});
  now_.ns += kSecond;
  EXPECT_EQ(handle(Tick{}), "bind high a 0");
  EXPECT_EQ(waiting(), 1U);
}

TEST_F(EngineTest, APodThatLeavesWhileItRestsIsForgotten) {
  handle(NodeChanged{one_card("a")});
  pending(pod("p").gpus(1));
  handle(BindFailed{"p"});
  gone("p");
  now_.ns += kSecond;
  EXPECT_EQ(handle(Tick{}), "");
  EXPECT_EQ(waiting(), 0U);
}

TEST_F(EngineTest, AFailedBindIsTriedAgainWhenThePodHasRested) {
  handle(NodeChanged{one_card("a")});
  pending(pod("p").gpus(1));
  EXPECT_EQ(handle(BindFailed{"p"}), "");
  EXPECT_EQ(engine_.ledger().pods().count(), 0U);
  EXPECT_EQ(handle(BindFailed{"p"}), "") << "twice";
  now_.ns += kSecond;
  EXPECT_EQ(handle(Tick{}), "bind p a 0");
  EXPECT_EQ(handle(Tick{}), "");
  handle(BindDone{"p"});
  EXPECT_EQ(handle(BindFailed{"p"}), "") << "too late: it is bound";
  EXPECT_EQ(engine_.ledger().pods().count(), 1U);
}

TEST_F(EngineTest, APodThatLeavesWhileItWaitsIsForgotten) {
  pending(pod("p").gpus(1));
  pending(pod("q").gpus(1));
  EXPECT_EQ(gone("p"), "");
  EXPECT_EQ(waiting(), 1U);
  EXPECT_EQ(handle(NodeChanged{node("a").cards(2)}), "bind q a 0");
}

TEST_F(EngineTest, APodThatLeavesDuringItsBindFreesItsCapacity) {
  handle(NodeChanged{one_card("a")});
  pending(pod("p").gpus(1));
  pending(pod("q").gpus(1));
  EXPECT_EQ(gone("p"), "bind q a 0");
  EXPECT_EQ(handle(BindFailed{"p"}), "");
  EXPECT_EQ(handle(BindDone{"p"}), "");
  EXPECT_EQ(waiting(), 0U);
}

// ---- order of waiting pods ----------------------------------------------------------------------

TEST_F(EngineTest, ParkedPodsGoByPriorityThenByArrival) {
  for (const auto& [uid, priority] :
       {std::pair{"late-low", -1}, {"first", 0}, {"second", 0}, {"urgent", 7}, {"third", 0}}) {
    EXPECT_EQ(pending(pod(uid).gpus(1).priority(priority)), std::string("refuse ") + uid);
  }
  EXPECT_EQ(handle(NodeChanged{node("a").cards(2)}), "bind urgent a 0; bind first a 1");
  EXPECT_EQ(gone("urgent"), "bind second a 0");
  EXPECT_EQ(handle(NodeChanged{one_card("b")}), "bind third b 0");
  EXPECT_EQ(gone("third"), "bind late-low b 0");
}

TEST_F(EngineTest, PodsOfDifferentShapesTakeTheirTurnsToo) {
  pending(pod("half").milli(500));
  pending(pod("whole").gpus(1).priority(1));
  pending(pod("small").milli(100).priority(-1));
  pending(pod("cpu-hog").cpu_milli(1000000).priority(9));
  EXPECT_EQ(handle(NodeChanged{one_card("a")}), "bind whole a 0");
  EXPECT_EQ(gone("whole"), "bind half a 0; bind small a 0");
  EXPECT_EQ(waiting(), 1U);
}

TEST_F(EngineTest, ARefusalIsNotRepeatedWhileThePodStillDoesNotFit) {
  pending(pod("p").gpus(2));
  EXPECT_EQ(handle(NodeChanged{one_card("a")}), "");
  EXPECT_EQ(handle(Tick{}), "");
  EXPECT_EQ(waiting(), 1U);
}

// ---- events that are repeated, late, or about unknown objects -----------------------------------

TEST_F(EngineTest, RepeatedEventsChangeNothing) {
  const PodSpec small = pod("small").milli(300);
  handle(NodeChanged{one_card("a")});
  EXPECT_EQ(pending(small), "bind small a 0");
  EXPECT_EQ(pending(small), "") << "while it is bound";
  EXPECT_EQ(handle(BindDone{"small"}), "");
  EXPECT_EQ(handle(BindDone{"small"}), "");
  EXPECT_EQ(pending(small), "");
  EXPECT_EQ(seen(small, "a"), "");
  EXPECT_EQ(seen(small, "a"), "");
  EXPECT_EQ(handle(NodeChanged{one_card("a")}), "");
  EXPECT_EQ(testing::use_of(engine_, "a"), "30/0");
  EXPECT_EQ(gone("small"), "");
  EXPECT_EQ(gone("small"), "");
  EXPECT_EQ(handle(NodeGone{"a"}), "");
  EXPECT_EQ(handle(NodeGone{"a"}), "");
  EXPECT_EQ(handle(BindDone{"nobody"}), "");
  EXPECT_EQ(handle(BindFailed{"nobody"}), "");
  EXPECT_EQ(gone("nobody"), "");
  EXPECT_EQ(handle(NodeGone{"nowhere"}), "");
}

TEST_F(EngineTest, APodThatIsAnnouncedAgainKeepsItsPlaceInTheQueue) {
  pending(pod("first").gpus(1));
  pending(pod("second").gpus(1));
  EXPECT_EQ(pending(pod("first").gpus(1)), "") << "it is refused already";
  EXPECT_EQ(waiting(), 2U);
  EXPECT_EQ(handle(NodeChanged{one_card("a")}), "bind first a 0");
}

TEST_F(EngineTest, APodThatIsAnnouncedAgainSmallerIsTriedAgain) {
  handle(NodeChanged{one_card("a")});
  EXPECT_EQ(pending(pod("p").gpus(2)), "refuse p");
  EXPECT_EQ(pending(pod("p").gpus(1)), "bind p a 0");
  EXPECT_EQ(waiting(), 0U);
}

TEST_F(EngineTest, NodesThatGoTakeNoPods) {
  handle(NodeChanged{one_card("a")});
  pending(pod("p").milli(400));
  handle(NodeGone{"a"});
  EXPECT_EQ(pending(pod("q").milli(400)), "refuse q");
  EXPECT_EQ(handle(NodeChanged{one_card("a")}), "bind q a 0") << "beside p, which is still there";
  EXPECT_EQ(pending(pod("r").milli(400)), "refuse r");
}

TEST_F(EngineTest, ACordonedNodeWakesNoPodUntilItIsUncordoned) {
  handle(NodeChanged{node("a").cards(1).cordoned()});
  EXPECT_EQ(pending(pod("p").gpus(1)), "refuse p");
  EXPECT_EQ(handle(NodeChanged{node("a").cards(1)}), "bind p a 0");
}

// ---- pods that others placed --------------------------------------------------------------------

Assignment whole_card(std::uint32_t card) {
  return {.containers = {{{.card = card, .milli = kMilliPerCard, .memory_mib = 16384}}}};
}

TEST_F(EngineTest, APodThatOthersBindWhileItWaitsLeavesTheQueue) {
  pending(pod("p").gpus(1));
  EXPECT_EQ(seen(pod("p").gpus(1), "a"), "");
  EXPECT_EQ(waiting(), 0U);
  EXPECT_EQ(handle(NodeChanged{node("a").cards(2)}), "");
  EXPECT_EQ(pending(pod("q").gpus(1)), "refuse q") << "p may be on either card";
  EXPECT_EQ(gone("p"), "bind q a 0");
}

TEST_F(EngineTest, NamingTheCardsOfAPodFreesTheOthers) {
  handle(NodeChanged{node("a").cards(2)});
  seen(pod("theirs").gpus(1), "a");
  EXPECT_EQ(pending(pod("p").gpus(1)), "refuse p");
  EXPECT_EQ(seen(pod("theirs").gpus(1), "a", whole_card(0)), "bind p a 1");
}

TEST_F(EngineTest, ASharedCardIsNotTheWholeCardOfAnotherPod) {
  handle(NodeChanged{node("a").cards(2)});
  seen(pod("theirs").gpus(1), "a");
  EXPECT_EQ(pending(pod("p").milli(300)), "refuse p") << "theirs may be on either card";
  const Assignment small{.containers = {{{.card = 1, .milli = 100, .memory_mib = 0}}}};
  EXPECT_EQ(seen(pod("small").milli(100), "a", small), "bind p a 1");
}

TEST_F(EngineTest, APodSeenElsewhereFreesTheNodeWeChose) {
  handle(NodeChanged{one_card("a")});
  pending(pod("p").gpus(1));
  EXPECT_EQ(pending(pod("q").gpus(1)), "refuse q");
  EXPECT_EQ(seen(pod("p").gpus(1), "b"), "bind q a 0");
}

TEST_F(EngineTest, ABindThatWorkedInSpiteOfAnErrorCounts) {
  handle(NodeChanged{one_card("a")});
  pending(pod("p").gpus(1));
  seen(pod("p").gpus(1), "a", whole_card(0));
  EXPECT_EQ(handle(BindFailed{"p"}), "") << "a timeout, after the pod was seen on its node";
  EXPECT_EQ(waiting(), 0U);
  EXPECT_EQ(pending(pod("q").gpus(1)), "refuse q");
}

TEST_F(EngineTest, RestartedFromPodsThatComeBeforeTheirNodes) {
  seen(pod("p").gpus(1), "a", whole_card(1));
  handle(NodeChanged{node("a").cards(2)});
  EXPECT_EQ(pending(pod("q").gpus(1)), "bind q a 0");
  EXPECT_EQ(pending(pod("r").gpus(1)), "refuse r");
}

// ---- pods that are held back --------------------------------------------------------------------

PolicyOptions holding_back() {
  PolicyOptions options = policy("dual-price");
  options.hold_back = true;
  return options;
}

// One node with four cards, and a history of pods with four cards and with one card. So a pod with
// one card is held back where it would break the only block of four.
class HoldBackTest : public EngineTest {
 protected:
  HoldBackTest() : EngineTest(holding_back()) {
    handle(NodeChanged{node("a").cards(4)});
    for (int i = 0; i < 100; ++i) {
      for (const std::int32_t cards : {4, 1}) {
        pending(pod("past").gpus(cards));
        handle(BindDone{"past"});
        gone("past");
      }
    }
    before_ = engine_.counters();
    EXPECT_EQ(pending(pod("running").gpus(4)), "bind running a 0,1,2,3");
  }
  Engine::Counters before_;
};

TEST_F(HoldBackTest, APodThatIsHeldBackDoesNotStandInTheWayOfOthers) {
  EXPECT_EQ(pending(pod("small").gpus(1).priority(9)), "refuse small");
  EXPECT_EQ(pending(pod("large").gpus(4)), "refuse large");
  EXPECT_EQ(gone("running"), "bind large a 0,1,2,3") << "the block is for such pods";
  EXPECT_EQ(engine_.counters().held_back, before_.held_back + 1);
  EXPECT_EQ(waiting(), 1U);
}

TEST_F(HoldBackTest, ARefusalSaysSo) {
  gone("running");
  const Commands commands = engine_.handle(PodPending{pod("small").gpus(1)}, {});
  ASSERT_EQ(commands.size(), 1U);
  const Refusal& refusal = std::get<Refuse>(commands[0]).refusal;
  EXPECT_EQ(refusal.nodes, 1);
  ASSERT_EQ(refusal.counts.size(), 1U);
  EXPECT_EQ(refusal.counts[0].code, ReasonCode::held_back);
  EXPECT_EQ(refusal.counts[0].nodes, 1);
}

TEST_F(HoldBackTest, ATickTriesTheMostUrgentFirst) {
  pending(pod("low").gpus(1).cpu_milli(1));
  pending(pod("high").gpus(1).cpu_milli(2).priority(5));
  pending(pod("middle").gpus(1).cpu_milli(3).priority(3));
  EXPECT_EQ(gone("running"), "") << "all are held back";
  EXPECT_EQ(handle(Tick{}), "");
  for (int i = 0; i < 4000; ++i) {  // the demand shifts to pods with one card, which fit nowhere
    pending(pod("shift").gpus(1).cpu_milli(1000000));
    gone("shift");
  }
  EXPECT_EQ(handle(Tick{}), "bind high a 0; bind middle a 1; bind low a 2");
}

TEST(HoldBack, IsOffByDefault) { EXPECT_FALSE(PolicyOptions{}.hold_back); }

// ---- random placement ---------------------------------------------------------------------------

// The nodes of 20 pods that are placed one after the other on an empty cluster of 8 nodes.
std::string drawn(std::uint64_t seed) {
  PolicyOptions options = policy("random");
  options.seed = seed;
  std::vector<NodeSpec> nodes;
  for (int i = 0; i < 8; ++i) nodes.push_back(node(std::to_string(i)).cards(4));
  Engine engine = testing::engine_with(options, nodes);
  std::string text;
  for (int i = 0; i < 20; ++i) {
    text += testing::place(engine, pod("p").gpus(1)).text() + ";";
    testing::end(engine, "p");
  }
  return text;
}

TEST(EngineRandom, DrawsForEveryPodAndAlikeForEverySeed) {
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
  int nodes = 0;
  int cards = 0;
  for (const char digit : {'0', '1', '2', '3', '4', '5', '6', '7'}) {
    nodes += drawn(1).find(std::string{digit} + " ") != std::string::npos ? 1 : 0;
    cards += drawn(1).find(" " + std::string{digit} + ";") != std::string::npos ? 1 : 0;
  }
  EXPECT_GE(nodes, 4);
  EXPECT_GE(cards, 3);
}

// ---- explaining and counting --------------------------------------------------------------------

TEST_F(EngineTest, ExplainsEveryNodeAndChangesNothing) {
  handle(NodeChanged{node("a").cards(1).model("T4")});
  handle(NodeChanged{node("b").cards(2).model("A100")});
  handle(NodeChanged{node("c")});
  const auto before = engine_.counters();
  const auto verdicts = engine_.explain(pod("p").gpus(2).model("A100"));
  ASSERT_EQ(verdicts.size(), 3U);
  EXPECT_EQ(verdicts[0].node, "a");
  EXPECT_EQ(verdicts[0].reason.code, ReasonCode::model_mismatch);
  EXPECT_EQ(verdicts[1].reason.code, ReasonCode::none);
  EXPECT_EQ(verdicts[2].reason.code, ReasonCode::no_cards);
  EXPECT_EQ(engine_.counters().decisions, before.decisions);
  EXPECT_EQ(engine_.ledger().pods().count(), 0U);
}

TEST_F(EngineTest, CountsItsDecisions) {
  handle(NodeChanged{one_card("a")});
  pending(pod("p").gpus(1));
  pending(pod("q").gpus(1));
  pending(pod("r").gpus(1));
  EXPECT_EQ(engine_.counters().decisions, 3U);
  EXPECT_EQ(engine_.counters().bound, 1U);
  EXPECT_EQ(engine_.counters().refused, 2U);
  EXPECT_EQ(engine_.counters().shapes, 1U) << "twins";
  EXPECT_EQ(engine_.counters().nodes_judged, 2U) << "a, before and after it was taken";
}

}  // namespace
}  // namespace stowage::core
