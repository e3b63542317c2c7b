// Preemption for pods of an outside scheduler, and capacity that is nominated for other pods.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/engine/engine.h"
#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::engine_with;
using testing::node;
using testing::place;
using testing::pod;

class ExternalPreemption : public ::testing::Test {
 protected:
  void start(const std::vector<NodeSpec>& nodes) {
    engine_ = engine_with("binpack", {});
    names_.clear();
    for (const auto& n : nodes) {
      (void)engine_.handle(NodeChanged{n}, kNow);
      names_.push_back(n.name);
    }
  }
  // True if the pod fits on a node.
  bool fits(const PodSpec& spec, HoldMode keep = HoldMode::hold) {
    return !engine_
                .filter({.pod = spec, .nodes = names_, .keep = keep, .until = kLater}, kNow, out_)
                .fits.empty();
  }
  Scores score(const PodSpec& spec) {
    return engine_.score({.pod = spec, .nodes = names_, .until = kLater}, kNow, out_).scores;
  }
  bool reserve(const PodSpec& spec, const std::string& on) {
    return engine_.reserve({.pod = spec, .node = on}, kNow, out_).place.has_value();
  }

  static constexpr base::Instant kNow{1000};
  static constexpr base::Instant kLater{30'000'001'000};
  Engine engine_{PolicyOptions{}};
  std::vector<std::string> names_;
  Commands out_;
};

PodSpec whole(const std::string& uid, int cards = 1) { return pod(uid).gpus(cards); }

TEST_F(ExternalPreemption, IsADryRunWithoutTheVictims) {
  start({node("n").cards(2)});
  for (const char* uid : {"a", "b"}) ASSERT_TRUE(reserve(whole(uid), "n"));
  const auto ask = [&](std::vector<PreemptRequest::Candidate> candidates, int cards) {
    PreemptRequest preempt{.pod = whole("p", cards)};
    preempt.nodes.push_back({.node = "n", .candidates = std::move(candidates)});
    return engine_.preempt(preempt);
  };
  const auto one = ask({{"b", true}}, 1);
  ASSERT_EQ(one.nodes.size(), 1U);
  EXPECT_EQ(one.nodes[0].victims, std::vector<std::string>{"b"});
  EXPECT_EQ(one.nodes[0].kept, 1);
  EXPECT_TRUE(ask({}, 1).nodes.empty());
  const auto added = ask({{"b", true}, {"a", false}}, 2);
  ASSERT_EQ(added.nodes.size(), 1U);
  EXPECT_EQ(added.nodes[0].added, 1);
  EXPECT_TRUE(ask({{"b", true}, {"a", false}}, 3).nodes.empty()) << "it would not help";
  EXPECT_EQ(engine_.ledger().pods().count(), 2U) << "nothing has changed";
  EXPECT_TRUE(engine_.ledger().audit().empty());
}

// Both pods can be spared, so each would be put back once for each time that it is listed.
TEST_F(ExternalPreemption, CountsAPodThatIsListedTwiceOnce) {
  start({node("n").cards(3)});
  for (const char* uid : {"a", "b"}) ASSERT_TRUE(reserve(whole(uid), "n"));
  PreemptRequest preempt{.pod = whole("p")};
  preempt.nodes.push_back({.node = "n", .candidates = {{"a"}, {"b"}, {"a"}, {"b"}}});
  const PreemptAnswer answer = engine_.preempt(preempt);
  ASSERT_EQ(answer.nodes.size(), 1U);
  EXPECT_TRUE(answer.nodes[0].victims.empty());
  preempt.pod = whole("p", 2);
  const PreemptAnswer one = engine_.preempt(preempt);
  ASSERT_EQ(one.nodes.size(), 1U);
  EXPECT_EQ(one.nodes[0].victims.size(), 1U);
  EXPECT_EQ(one.nodes[0].added, 1);
}

TEST_F(ExternalPreemption, SparesPodsThatDoNotHelp) {
  start({node("n").cards(2).model("T4").cards(1).model("A100")});
  for (const char* uid : {"t1", "t2"}) {
    PodSpec t = whole(uid);
    t.containers[0].gpu.filter.models_any = {"T4"};
    ASSERT_TRUE(reserve(t, "n"));
  }
  ASSERT_TRUE(reserve(whole("a"), "n"));
  PodSpec p = whole("p");
  p.containers[0].gpu.filter.models_any = {"A100"};
  PreemptRequest ask{.pod = p};
  ask.nodes.push_back({.node = "n", .candidates = {{"t1", false}, {"t2", false}, {"a", false}}});
  const auto answer = engine_.preempt(ask);
  ASSERT_EQ(answer.nodes.size(), 1U);
  EXPECT_EQ(answer.nodes[0].victims, std::vector<std::string>{"a"});
}

// ---- nominations of less important pods ---------------------------------------------------------

// A pod of priority 5 waits for the whole card, by number or by name; a share is on it.
class ExternalPodsAndNominations : public ExternalPreemption,
                                   public ::testing::WithParamInterface<Naming> {
 protected:
  void SetUp() override {
    start({node("n").cards(1)});
    ASSERT_TRUE(reserve(pod("s").milli(100), "n"));
    PodSpec waits = pod("w").gpus(1).priority(5);
    waits.naming = GetParam();
    (void)engine_.handle(PodPending{waits}, kNow);
    (void)engine_.handle(PodNominated{.pod = waits, .node = "n"}, kNow);
    ASSERT_EQ(engine_.counters().nominations, 1U);
  }
  static PodSpec share(std::int32_t priority) { return pod("p").milli(100).priority(priority); }
  // The uids of the victims on node n; "no" if the node is not in the answer.
  std::string victims(const PodSpec& spec, std::vector<PreemptRequest::Candidate> candidates) {
    PreemptRequest ask{.pod = spec};
    ask.nodes.push_back({.node = "n", .candidates = std::move(candidates)});
    const PreemptAnswer answer = engine_.preempt(ask);
    if (answer.nodes.empty()) return "no";
    std::string uids;
    for (const auto& uid : answer.nodes[0].victims) uids += uid;
    return uids;
  }
};

TEST_P(ExternalPodsAndNominations, KeepOutPodsThatAreNotMoreImportant) {
  for (const std::int32_t priority : {0, 5}) {
    EXPECT_FALSE(fits(share(priority), HoldMode::nothing));
    EXPECT_FALSE(fits(share(priority)));
    EXPECT_EQ(score(share(priority)), Scores{0});
    EXPECT_FALSE(reserve(share(priority), "n"));
    EXPECT_FALSE(engine_.fits_somewhere(share(priority)));
  }
  EXPECT_EQ(engine_.counters().nominations, 1U);
}

TEST_P(ExternalPodsAndNominations, ADryRunPassesThemAndLeavesThem) {
  EXPECT_TRUE(fits(share(9), HoldMode::nothing));
  EXPECT_TRUE(engine_.fits_somewhere(share(9)));
  EXPECT_EQ(victims(share(9), {{"s", false}}), "") << "it needs no victim";
  EXPECT_EQ(engine_.counters().nominations, 1U);
  EXPECT_FALSE(fits(share(5))) << "the capacity is still kept";
  EXPECT_TRUE(engine_.audit().empty());
}

TEST_P(ExternalPodsAndNominations, EndWhenAMoreImportantPodTakesTheCapacity) {
  const std::pair<const char*, std::function<bool()>> verbs[] = {
      {"filter", [&] { return fits(share(9)); }},
      {"score", [&] { return score(share(9)) == Scores{kMaxScore}; }},
      {"reserve", [&] { return reserve(share(9), "n"); }},
  };
  for (const auto& [name, passes] : verbs) {
    SCOPED_TRACE(name);
    SetUp();
    EXPECT_TRUE(passes());
    EXPECT_EQ(engine_.counters().nominations, 0U);
    EXPECT_EQ(engine_.counters().held, 2U);
    EXPECT_TRUE(engine_.audit().empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Namings, ExternalPodsAndNominations,
                         ::testing::Values(Naming::always, Naming::never));

// It may be on any idle card, but not on the card that has a share.
TEST_F(ExternalPreemption, SparesAPodWithAnUnknownCardThatIsNotInTheWay) {
  start({node("n").cards(2)});
  ASSERT_TRUE(reserve(pod("s").milli(100), "n"));
  (void)engine_.handle(PodSeenBound{.pod = whole("u"), .node = "n", .cards = std::nullopt}, kNow);
  PreemptRequest ask{.pod = pod("p").milli(100).priority(9)};
  ask.nodes = {{.node = "n", .candidates = {{"s", false}, {"u", false}}}};
  const PreemptAnswer answer = engine_.preempt(ask);
  ASSERT_EQ(answer.nodes.size(), 1U);
  EXPECT_EQ(answer.nodes[0].victims, std::vector<std::string>{}) << "the pod fits already";
}

TEST_F(ExternalPreemption, DoesNotCountOnACardThatANominatedPodIsToGet) {
  for (const Naming naming : {Naming::always, Naming::never}) {
    start({node("n").cards(2)});
    for (const char* uid : {"a", "b"}) ASSERT_TRUE(place(engine_, whole(uid)).placed());
    PodSpec vip = pod("vip").gpus(1).priority(9);
    vip.naming = naming;
    std::string evicted;
    for (const Command& command : engine_.handle(PodPending{vip}, kNow)) {
      if (const auto* evict = std::get_if<Evict>(&command)) evicted += evict->uid;
    }
    ASSERT_EQ(evicted.size(), 1U);
    const std::string other = evicted == "a" ? "b" : "a";
    PreemptRequest ask{.pod = pod("p").gpus(1).priority(5)};
    ask.pod.naming = naming;
    ask.nodes = {{.node = "n", .candidates = {{evicted, true}}}};
    EXPECT_TRUE(engine_.preempt(ask).nodes.empty()) << "that card is for vip";
    ask.nodes = {{.node = "n", .candidates = {{evicted, true}, {other, true}}}};
    EXPECT_EQ(engine_.preempt(ask).nodes.size(), 1U);
  }
}

// ---- the limits of one request
// -------------------------------------------------------------------

TEST_F(ExternalPreemption, ARequestIsBounded) {
  constexpr int kNodes = 2000;
  std::vector<NodeSpec> nodes;
  for (int i = 0; i < kNodes; ++i) nodes.push_back(node("n" + std::to_string(i)).cards(1));
  start(nodes);
  PreemptRequest ask{.pod = pod("p").gpus(1).priority(9)};
  for (int i = 0; i < kNodes; ++i) {
    const std::string on = "n" + std::to_string(i);
    std::vector<PreemptRequest::Candidate> candidates;
    for (const char* half : {"x", "y"}) {
      const std::string uid = half + on;
      ASSERT_TRUE(reserve(pod(uid).milli(500), on));
      candidates.push_back({.uid = uid, .given = true});
    }
    ask.nodes.push_back({.node = on, .candidates = candidates});
  }
  const PreemptAnswer answer = engine_.preempt(ask);
  ASSERT_GE(answer.nodes.size(), 48U);
  EXPECT_LE(answer.nodes.size(), 500U);
  EXPECT_EQ(answer.nodes[0].node, "n0") << "in the order of the request";
  EXPECT_EQ(answer.nodes.back().node, "n" + std::to_string(answer.nodes.size() - 1));
}

// Nine containers of 51 % do not fit on eight cards; the search for cards finds that out slowly.
TEST_F(ExternalPreemption, ARequestSharesTheSearchStepsOfOneEvent) {
  std::vector<NodeSpec> nodes;
  for (int i = 0; i < 20; ++i) nodes.push_back(node("n" + std::to_string(i)).cards(8));
  start(nodes);
  testing::PodBuilder nine = pod("p").milli(510).priority(9);
  for (int i = 1; i < 9; ++i) nine.container("c" + std::to_string(i)).milli(510);
  PreemptRequest ask{.pod = nine};
  for (const auto& name : names_) ask.nodes.push_back({.node = name, .candidates = {}});
  EXPECT_TRUE(engine_.preempt(ask).nodes.empty());
  // A pod that needs no search is answered afterwards: the budget belongs to one request.
  ask.pod = pod("q").gpus(1);
  EXPECT_EQ(engine_.preempt(ask).nodes.size(), 20U);
}

}  // namespace
}  // namespace stowage::core
