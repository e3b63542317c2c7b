// Preemption, nominations for waiting pods, and the outside picker.
#include <gtest/gtest.h>

#include "core/engine/engine.h"
#include "core/explain/render.h"
#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::add;
using testing::at;
using testing::end;
using testing::engine_with;
using testing::node;
using testing::occupy;
using testing::place;
using testing::pod;
using testing::policy;

constexpr std::int64_t kSecond = 1'000'000'000;

template <typename Kind>
std::vector<Kind> all(const Commands& commands) {
  std::vector<Kind> found;
  for (const Command& command : commands) {
    if (const auto* one = std::get_if<Kind>(&command)) found.push_back(*one);
  }
  return found;
}

std::string evicted(const Commands& commands) {
  std::string names;
  for (const Evict& evict : all<Evict>(commands)) names += (names.empty() ? "" : " ") + evict.uid;
  return names;
}

// Places pods with these priorities, one card each.
void fill(Engine& engine, const std::vector<std::pair<std::string, std::int32_t>>& pods) {
  for (const auto& [name, priority] : pods) {
    ASSERT_TRUE(place(engine, pod("ns/" + name).gpus(1).priority(priority)).placed());
  }
}

TEST(Preemption, TheLeastImportantPodsAreEvictedAndTheCapacityIsKept) {
  Engine engine = engine_with("first", {node("a").cards(2)});
  fill(engine, {{"low", 1}, {"mid", 5}});
  const Commands commands = engine.handle(PodPending{pod("ns/vip").gpus(1).priority(10)}, at(0));
  EXPECT_EQ(evicted(commands), "ns/low");
  ASSERT_EQ(all<Nominate>(commands).size(), 1U);
  EXPECT_EQ(all<Nominate>(commands)[0].node, "a");
  ASSERT_EQ(all<Refuse>(commands).size(), 1U);
  EXPECT_NE(
      sentence(all<Refuse>(commands)[0].refusal).find("Evicting 1 pod of lower priority from a"),
      std::string::npos);
  // No pod takes the freed card, not even one that arrived in between.
  EXPECT_TRUE(all<Bind>(engine.handle(PodPending{pod("ns/late").gpus(1)}, at(1))).empty());
  const auto binds = all<Bind>(engine.handle(PodGone{"ns/low"}, at(2)));
  ASSERT_EQ(binds.size(), 1U);
  EXPECT_EQ(binds[0].uid, "ns/vip");
  EXPECT_TRUE(engine.audit().empty());
  EXPECT_EQ(engine.counters().nominations, 0U);
}

// A device plugin picks the card, so any card may become the whole card that the pod waits for.
TEST(Preemption, SharesDoNotTakeWhatFallsFreeForACardByNumber) {
  Engine engine = engine_with("first", {node("a").cards(1)});
  for (const char* name : {"ns/x", "ns/y"}) {
    ASSERT_TRUE(place(engine, pod(name).gpus(1).milli(500)).placed());
  }
  PodSpec vip = pod("ns/vip").gpus(1).priority(10);
  vip.naming = Naming::never;
  EXPECT_EQ(evicted(engine.handle(PodPending{vip}, at(0))), "ns/x ns/y");
  EXPECT_TRUE(all<Bind>(engine.handle(PodPending{pod("ns/s").gpus(1).milli(100)}, at(1))).empty());
  EXPECT_TRUE(all<Bind>(engine.handle(PodGone{"ns/x"}, at(2))).empty()) << "half a card is kept";
  EXPECT_TRUE(engine.audit().empty());
  const auto binds = all<Bind>(engine.handle(PodGone{"ns/y"}, at(3)));
  ASSERT_EQ(binds.size(), 1U);
  EXPECT_EQ(binds[0].uid, "ns/vip");
  EXPECT_TRUE(engine.audit().empty());
}

TEST(Preemption, NoPodIsEvictedForAPodThatNeverPreempts) {
  Engine engine = engine_with("first", {node("a").cards(1)});
  fill(engine, {{"low", 1}});
  PodSpec polite = pod("ns/polite").gpus(1).priority(10);
  polite.never_preempts = true;
  EXPECT_EQ(evicted(engine.handle(PodPending{polite}, at(0))), "");
}

TEST(Preemption, NoPodIsEvictedInVain) {
  Engine engine = engine_with("first", {node("a").cards(2), node("b").cards(1)});
  fill(engine, {{"low", 1}, {"high", 20}});
  EXPECT_EQ(evicted(engine.handle(PodPending{pod("ns/two").gpus(2).priority(10)}, at(0))), "")
      << "one of the two cards of a is held by somebody more important";
}

TEST(Preemption, OneBigVictimIsBetterThanManySmallOnes) {
  Engine engine = engine_with("first", {node("a").cards(8)});
  ASSERT_TRUE(place(engine, pod("ns/big").gpus(4)).placed());
  fill(engine, {{"s1", 0}, {"s2", 0}, {"s3", 0}, {"s4", 0}});
  EXPECT_EQ(evicted(engine.handle(PodPending{pod("ns/vip").gpus(4).priority(1)}, at(0))), "ns/big");
}

TEST(Preemption, TheNodeWithTheLeastImportantVictimsIsChosen) {
  Engine engine =
      engine_with("first", {node("a").cards(1), node("b").cards(1), node("c").cards(1)});
  fill(engine, {{"five", 5}, {"one", 1}, {"three", 3}});
  EXPECT_EQ(evicted(engine.handle(PodPending{pod("ns/vip").gpus(1).priority(10)}, at(0))),
            "ns/one");
}

TEST(Preemption, ABudgetIsBrokenOnlyIfThereIsNoOtherWay) {
  Engine engine = engine_with("first", {node("a").cards(1), node("b").cards(1)});
  PodSpec guarded = pod("ns/guarded").gpus(1).priority(1);
  guarded.constraints.labels = {{"app", "db"}};
  ASSERT_TRUE(place(engine, guarded).placed());
  fill(engine, {{"plain", 2}});
  const LabelSelector db{.all = {{.key = "app", .values = {"db"}}}};
  (void)engine.handle(AuxObjectChanged{Budget{.name = "ns/pdb", .selector = db, .allowed = 0}},
                      at(0));
  EXPECT_EQ(evicted(engine.handle(PodPending{pod("ns/vip").gpus(1).priority(10)}, at(0))),
            "ns/plain");
  EXPECT_EQ(evicted(engine.handle(PodPending{pod("ns/vip2").gpus(1).priority(10)}, at(0))),
            "ns/guarded");
}

TEST(Preemption, SharesOfCardsAreFreedOnTheCardWhereItHelps) {
  Engine engine = engine_with("first", {node("a").cards(2)});
  for (const char* name : {"ns/a1", "ns/a2", "ns/b1", "ns/b2"}) {
    ASSERT_TRUE(place(engine, pod(name).milli(500)).placed());
  }
  const Commands commands = engine.handle(PodPending{pod("ns/vip").gpus(1).priority(10)}, at(0));
  ASSERT_EQ(all<Evict>(commands).size(), 2U) << "both halves of one card, nobody else";
  const std::string names = evicted(commands);
  EXPECT_TRUE(names == "ns/a1 ns/a2" || names == "ns/b1 ns/b2") << names;
}

TEST(Preemption, TwoPreemptorsDoNotUseTheSameCapacity) {
  Engine engine = engine_with("first", {node("a").cards(2)});
  fill(engine, {{"x", 1}, {"y", 1}});
  const std::string first =
      evicted(engine.handle(PodPending{pod("ns/p").gpus(1).priority(9)}, at(0)));
  const std::string second =
      evicted(engine.handle(PodPending{pod("ns/q").gpus(1).priority(9)}, at(0)));
  EXPECT_FALSE(first.empty());
  EXPECT_FALSE(second.empty());
  EXPECT_NE(first, second);
  EXPECT_EQ(evicted(engine.handle(PodPending{pod("ns/r").gpus(1).priority(9)}, at(0))), "");
}

TEST(Preemption, AMoreImportantPodTakesCapacityNominatedForALessImportantOne) {
  Engine engine = engine_with("first", {node("a").cards(1)});
  fill(engine, {{"low", 1}});
  ASSERT_EQ(evicted(engine.handle(PodPending{pod("ns/p").gpus(1).priority(5)}, at(0))), "ns/low");
  const Commands commands = engine.handle(PodPending{pod("ns/q").gpus(1).priority(9)}, at(1));
  EXPECT_EQ(evicted(commands), "") << "the victim goes already";
  const auto binds = all<Bind>(engine.handle(PodGone{"ns/low"}, at(2)));
  ASSERT_EQ(binds.size(), 1U);
  EXPECT_EQ(binds[0].uid, "ns/q");
}

TEST(Preemption, AFailedEvictionEndsTheNomination) {
  Engine engine = engine_with("first", {node("a").cards(1)});
  fill(engine, {{"low", 1}});
  ASSERT_EQ(evicted(engine.handle(PodPending{pod("ns/p").gpus(1).priority(5)}, at(0))), "ns/low");
  const Commands commands = engine.handle(EvictFailed{"ns/low"}, at(1));
  EXPECT_GE(all<Nominate>(commands).size(), 1U);
  EXPECT_TRUE(engine.audit().empty());
}

TEST(Preemption, PodsInTheWayByAntiAffinityGoToo) {
  NodeSpec zone = node("a").cards(2);
  zone.labels = {{"zone", "1"}};
  Engine engine = engine_with("first", {zone});
  PodSpec loner = pod("ns/loner").gpus(1).priority(1);
  loner.constraints.anti_affinity = {{.selector = {.all = {{.key = "app", .values = {"web"}}}},
                                      .namespaces = {"ns"},
                                      .topology_key = "zone"}};
  ASSERT_TRUE(place(engine, loner).placed());
  PodSpec web = pod("ns/web").gpus(1).priority(5);
  web.constraints.labels = {{"app", "web"}};
  EXPECT_EQ(evicted(engine.handle(PodPending{web}, at(0))), "ns/loner");
  const auto binds = all<Bind>(engine.handle(PodGone{"ns/loner"}, at(1)));
  ASSERT_EQ(binds.size(), 1U);
  EXPECT_EQ(binds[0].uid, "ns/web");
}

TEST(Preemption, ANominatedPodOfAnotherSchedulerIsRespectedByItsEqualsAndLessers) {
  Engine engine = engine_with("first", {node("a").cards(1)});
  PodSpec theirs = pod("ns/theirs").gpus(1).priority(5);
  (void)engine.handle(PodNominated{.pod = theirs, .node = "a"}, at(0));
  EXPECT_TRUE(
      all<Bind>(engine.handle(PodPending{pod("ns/eq").gpus(1).priority(5)}, at(1))).empty());
  const auto binds = all<Bind>(engine.handle(PodPending{pod("ns/hi").gpus(1).priority(6)}, at(1)));
  ASSERT_EQ(binds.size(), 1U);
  EXPECT_TRUE(engine.audit().empty());
}

// The other scheduler frees two cards, and a device plugin assigns any two; which ones is unknown.
TEST(Preemption, APodDoesNotEvictForACardThatANominatedPodIsToGet) {
  Engine engine = engine_with("first", {node("a").cards(3)});
  fill(engine, {{"low", 1}, {"mid", 5}, {"mid-too", 5}});
  PodSpec theirs = pod("ns/theirs").gpus(2).priority(10);
  theirs.naming = Naming::if_known;
  (void)engine.handle(PodNominated{.pod = theirs, .node = "a"}, at(0));
  PodSpec ours = pod("ns/ours").gpus(1).priority(5);
  ours.naming = Naming::if_known;
  EXPECT_EQ(evicted(engine.handle(PodPending{ours}, at(1))), "");
  EXPECT_TRUE(all<Bind>(engine.handle(PodGone{"ns/low"}, at(2))).empty()) << "one of the two";
  EXPECT_TRUE(all<Bind>(engine.handle(PodGone{"ns/mid"}, at(3))).empty()) << "the other";
  EXPECT_EQ(all<Bind>(engine.handle(PodGone{"ns/mid-too"}, at(4))).size(), 1U);
  EXPECT_TRUE(engine.audit().empty());
}

// ---- pods that wait for several cards ---------------------------------------------------------

Engine patient(const std::vector<NodeSpec>& nodes) {
  Engine engine({policy("first")}, {.patience_ns = 60 * kSecond});
  for (const auto& spec : nodes) add(engine, spec);
  return engine;
}

TEST(NominationTest, APodThatWaitsForSeveralCardsGetsThemAsTheyFallFree) {
  Engine engine = patient({node("a").cards(4), node("b").cards(2)});
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(place(engine, pod("ns/s" + std::to_string(i)).gpus(1)).placed());
  }
  (void)engine.handle(PodPending{pod("ns/big").gpus(4)}, at(0));
  EXPECT_TRUE(engine.handle(Tick{.parked = false}, at(59)).empty());
  const auto nominated = all<Nominate>(engine.handle(Tick{.parked = false}, at(61)));
  ASSERT_EQ(nominated.size(), 1U);
  EXPECT_EQ(nominated[0].node, "a");
  EXPECT_FALSE(nominated[0].preempts);
  // Small pods keep arriving and would take every freed card; those of node a are kept.
  for (int i = 0; i < 3; ++i) {
    (void)engine.handle(PodGone{"ns/s" + std::to_string(i)}, at(70));
    const auto late = pod("ns/late" + std::to_string(i)).gpus(1);
    EXPECT_TRUE(all<Bind>(engine.handle(PodPending{late}, at(70))).empty());
  }
  // Meanwhile pods are still placed on node b.
  const auto constraints = all<Bind>(engine.handle(PodGone{"ns/s4"}, at(71)));
  ASSERT_EQ(constraints.size(), 1U);
  EXPECT_EQ(constraints[0].node, "b");
  const auto binds = all<Bind>(engine.handle(PodGone{"ns/s3"}, at(72)));
  ASSERT_EQ(binds.size(), 1U);
  EXPECT_EQ(binds[0].uid, "ns/big");
  EXPECT_TRUE(engine.audit().empty());
}

TEST(NominationTest, ARefusalNamesTheNomination) {
  Engine engine = patient({node("a").cards(2)});
  ASSERT_TRUE(place(engine, pod("ns/s0").gpus(1)).placed());
  ASSERT_TRUE(place(engine, pod("ns/s1").gpus(1)).placed());
  (void)engine.handle(PodPending{pod("ns/big").gpus(2)}, at(0));
  (void)engine.handle(Tick{.parked = false}, at(61));
  (void)engine.handle(PodGone{"ns/s0"}, at(62));
  const auto refused = all<Refuse>(engine.handle(PodPending{pod("ns/late").gpus(1)}, at(63)));
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_NE(sentence(refused[0].refusal).find("kept for pods that wait longer"), std::string::npos)
      << sentence(refused[0].refusal);
  EXPECT_NE(sentence(refused[0].refusal).find("ns/big"), std::string::npos);
}

// Pod names are visible only within their namespace.
TEST(NominationTest, ARefusalDoesNotNamePodsOfOtherNamespaces) {
  Engine engine = patient({node("a").cards(2)});
  ASSERT_TRUE(place(engine, pod("theirs/s0").gpus(1)).placed());
  ASSERT_TRUE(place(engine, pod("theirs/s1").gpus(1)).placed());
  (void)engine.handle(PodPending{pod("theirs/secret").gpus(2)}, at(0));
  (void)engine.handle(Tick{.parked = false}, at(61));
  (void)engine.handle(PodGone{"theirs/s0"}, at(62));
  const auto refused = all<Refuse>(engine.handle(PodPending{pod("mine/late").gpus(1)}, at(63)));
  ASSERT_EQ(refused.size(), 1U);
  const std::string words = sentence(refused[0].refusal);
  EXPECT_NE(words.find("kept for pods that wait longer or have a higher priority."),
            std::string::npos)
      << words;
  EXPECT_EQ(words.find("theirs"), std::string::npos) << words;
  EXPECT_EQ(refused[0].refusal.kept_for, "");
}

// Four cards have a share each, and some pod has the fifth. The nomination keeps the rest of two
// cards, and none of them is wholly free.
TEST(NominationTest, OneByNumberLeavesSharedCardsThatItDoesNotNeed) {
  Engine engine = patient({node("a").cards(5)});
  for (std::uint32_t i = 0; i < 4; ++i) occupy(engine, "a", i, {.milli = 100});
  (void)engine.handle(PodSeenBound{.pod = pod("ns/u").gpus(1), .node = "a", .cards = std::nullopt},
                      at(0));
  PodSpec waits = pod("ns/w").gpus(2);
  waits.naming = Naming::never;
  (void)engine.handle(PodPending{waits}, at(0));
  ASSERT_EQ(all<Nominate>(engine.handle(Tick{.parked = false}, at(61))).size(), 1U);
  for (const char* share : {"ns/x", "ns/y"}) {
    EXPECT_EQ(all<Bind>(engine.handle(PodPending{pod(share).milli(900)}, at(62))).size(), 1U);
  }
  const auto refused = all<Refuse>(engine.handle(PodPending{pod("ns/z").milli(100)}, at(63)));
  ASSERT_EQ(refused.size(), 1U) << "the rest of two cards is kept";
  EXPECT_EQ(refused[0].refusal.kept_cards, 0);
  // A more important pod takes it, and no pod is evicted for that.
  const Commands top = engine.handle(PodPending{pod("ns/top").milli(100).priority(9)}, at(64));
  EXPECT_EQ(all<Bind>(top).size(), 1U);
  EXPECT_EQ(evicted(top), "");
  EXPECT_TRUE(engine.audit().empty());
}

// The nomination of the waiting pod counts with the cards that it will have, not with the parts of
// shared cards that it keeps until then.
TEST(NominationTest, OneByNumberCountsAsWholeCardsInAPlan) {
  Engine engine = engine_with("first", {node("a").cards(2)});
  const PodSpec low = pod("ns/low").milli(900).priority(1);
  const PodSpec mid = pod("ns/mid").milli(900).priority(1);
  ASSERT_TRUE(place(engine, low).placed());
  ASSERT_TRUE(place(engine, mid).placed());
  PodSpec vip = pod("ns/vip").gpus(1).priority(5);
  vip.naming = Naming::never;
  EXPECT_EQ(all<Evict>(engine.handle(PodPending{vip}, at(0))).size(), 1U);
  PodSpec next = pod("ns/next").gpus(1).priority(5);
  next.naming = Naming::never;
  EXPECT_EQ(all<Evict>(engine.handle(PodPending{next}, at(1))).size(), 1U) << "the other card";
  EXPECT_TRUE(engine.audit().empty());
}

TEST(NominationTest, ThereAreFewOfThemAndTheyEnd) {
  Engine engine = patient({node("a").cards(2), node("b").cards(2)});
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(place(engine, pod("ns/s" + std::to_string(i)).gpus(1)).placed());
  }
  (void)engine.handle(PodPending{pod("ns/big1").gpus(2)}, at(0));
  (void)engine.handle(PodPending{pod("ns/big2").gpus(2).cpu_milli(5)}, at(1));
  for (int tick = 60; tick < 70; ++tick) (void)engine.handle(Tick{.parked = false}, at(tick));
  EXPECT_EQ(engine.counters().nominations, 1U);
  (void)engine.handle(Tick{.parked = false}, at(70 + 3600));
  EXPECT_EQ(engine.counters().nominations_opened, 2U) << "the other one has its turn";
  (void)engine.handle(NodeGone{"a"}, at(3700));
  (void)engine.handle(NodeGone{"b"}, at(3700));
  EXPECT_EQ(engine.counters().nominations, 0U);
  EXPECT_TRUE(engine.audit().empty());
}

// ---- the outside picker -----------------------------------------------------------------------

Engine picking() {
  PolicyOptions options = policy("first");
  options.picker_candidates = 2;
  return engine_with(options, {node("a").cards(1), node("b").cards(1), node("c").cards(1)});
}

AskPicker ask_for(Engine& engine, const std::string& name) {
  const auto asks = all<AskPicker>(engine.handle(PodPending{pod(name).gpus(1)}, at(0)));
  return asks.empty() ? AskPicker{} : asks[0];
}

TEST(Picker, ThePodGoesWhereItIsPicked) {
  Engine engine = picking();
  const AskPicker ask = ask_for(engine, "ns/p");
  ASSERT_EQ(ask.candidates.size(), 2U);
  EXPECT_EQ(ask.candidates[0].node, "a");
  EXPECT_EQ(ask.candidates[1].cards_idle, 1);
  const auto binds = all<Bind>(
      engine.handle(Picked{.uid = "ns/p", .generation = ask.generation, .node = "b"}, at(1)));
  ASSERT_EQ(binds.size(), 1U);
  EXPECT_EQ(binds[0].node, "b");
  EXPECT_TRUE(engine.audit().empty());
}

TEST(Picker, WithoutAnAnswerThePolicysOwnChoiceIsKept) {
  for (const char* node_name : {"", "c", "nowhere"}) {  // c was not offered
    Engine engine = picking();
    const AskPicker ask = ask_for(engine, "ns/p");
    const auto binds = all<Bind>(engine.handle(
        Picked{.uid = "ns/p", .generation = ask.generation, .node = node_name}, at(1)));
    ASSERT_EQ(binds.size(), 1U) << node_name;
    EXPECT_EQ(binds[0].node, "a") << node_name;
  }
}

TEST(Picker, APickThatIsTakenByNowFallsBackToTheReservedPlace) {
  Engine engine = picking();
  const AskPicker first = ask_for(engine, "ns/p");   // a reserved, b offered
  const AskPicker second = ask_for(engine, "ns/q");  // b reserved, c offered
  const auto binds = all<Bind>(
      engine.handle(Picked{.uid = "ns/p", .generation = first.generation, .node = "b"}, at(1)));
  ASSERT_EQ(binds.size(), 1U);
  EXPECT_EQ(binds[0].node, "a");
  EXPECT_TRUE(
      engine.handle(Picked{.uid = "ns/q", .generation = first.generation, .node = "c"}, at(1))
          .empty())
      << "an answer to another question";
  const auto other = all<Bind>(
      engine.handle(Picked{.uid = "ns/q", .generation = second.generation, .node = "c"}, at(1)));
  ASSERT_EQ(other.size(), 1U);
  EXPECT_EQ(other[0].node, "c");
}

// Neither pod waits in our queue, so neither has an arrival number.
TEST(NominationTest, ThoseOfTwoPodsOfOnePriorityOnOneNodeAreBothServed) {
  Engine engine = engine_with("first", {node("a").cards(2)});
  fill(engine, {{"low", 1}, {"mid", 1}});
  for (const char* name : {"ns/one", "ns/two"}) {
    (void)engine.handle(PodNominated{.pod = pod(name).gpus(1).priority(10), .node = "a"}, at(0));
  }
  EXPECT_EQ(engine.counters().nominations, 2U);
  (void)engine.handle(PodGone{"ns/low"}, at(1));
  (void)engine.handle(PodGone{"ns/mid"}, at(1));
  // Both cards are kept, one for each.
  EXPECT_TRUE(all<Bind>(engine.handle(PodPending{pod("ns/late").milli(500)}, at(2))).empty());
  EXPECT_TRUE(engine.audit().empty());
}

// ---- together with pods that are placed by number -----------------------------------------------

struct UnnamedRow {
  const char* name;
  PodSpec vip;
  Naming vip_naming;
  Naming late_naming;
};

// A pod whose cards must be named waits for the last pod with unknown cards.
TEST(NominationTest, PodsThatArePlacedByNumberDoNotTakeThem) {
  const PodSpec two = pod("ns/vip").gpus(2).priority(10);
  const PodSpec share = pod("ns/vip").milli(500).priority(10);
  for (const auto& row :
       {UnnamedRow{"named, and late by number", two, Naming::always, Naming::never},
        {"named, and late where it may be", two, Naming::always, Naming::if_known},
        {"a share, and late by number", share, Naming::always, Naming::never},
        {"a share, and late where it may be", share, Naming::always, Naming::if_known},
        {"both where they may be", two, Naming::if_known, Naming::if_known}}) {
    SCOPED_TRACE(row.name);
    Engine engine = engine_with("first", {node("a").cards(2)});
    for (const char* uid : {"ns/low", "ns/mid"}) {
      const PodSpec there = pod(uid).gpus(1).priority(1);
      (void)engine.handle(PodSeenBound{.pod = there, .node = "a", .cards = std::nullopt}, at(0));
    }
    PodSpec vip = row.vip;
    vip.naming = row.vip_naming;
    EXPECT_EQ(all<Evict>(engine.handle(PodPending{vip}, at(0))).size(), 2U);
    EXPECT_TRUE(all<Bind>(engine.handle(PodGone{"ns/low"}, at(1))).empty());
    PodSpec late = pod("ns/late").gpus(1);
    late.naming = row.late_naming;
    EXPECT_TRUE(all<Bind>(engine.handle(PodPending{late}, at(2))).empty());
    const Commands last = engine.handle(PodGone{"ns/mid"}, at(3));
    ASSERT_FALSE(all<Bind>(last).empty());
    EXPECT_EQ(all<Bind>(last)[0].uid, "ns/vip");
    EXPECT_EQ(evicted(last), "");
    EXPECT_TRUE(engine.audit().empty());
  }
}

TEST(NominationTest, MoreImportantPodsTakeThem) {
  for (const Naming naming : {Naming::always, Naming::if_known, Naming::never}) {
    Engine engine = engine_with("first", {node("a").cards(2)});
    const PodSpec there = pod("ns/low").gpus(1).priority(1);
    (void)engine.handle(PodSeenBound{.pod = there, .node = "a", .cards = std::nullopt}, at(0));
    EXPECT_EQ(evicted(engine.handle(PodPending{pod("ns/vip").gpus(1).priority(5)}, at(0))),
              "ns/low");
    PodSpec top = pod("ns/top").gpus(1).priority(9);
    top.naming = naming;
    EXPECT_TRUE(all<Bind>(engine.handle(PodPending{top}, at(1))).empty());
    const auto binds = all<Bind>(engine.handle(PodGone{"ns/low"}, at(2)));
    ASSERT_FALSE(binds.empty());
    EXPECT_EQ(binds[0].uid, "ns/top");
    EXPECT_TRUE(engine.audit().empty());
  }
}

}  // namespace
}  // namespace stowage::core
