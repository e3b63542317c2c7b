// Promises: when the engine is told of cards that were written on unbound pods.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dialect/dialect.h"
#include "scheduler/roster.h"

namespace stowage::scheduler {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kUnixNow = 1'000 * kSecond;
constexpr base::Instant kNow{5 * kSecond};

dialect::NodeObject node_object(const std::string& gpus) {
  dialect::NodeObject node;
  node.name = "n";
  node.uid = "uid-n";
  node.allocatable = {{"pods", *base::Quantity::parse("110")},
                      {"nvidia.com/gpu", *base::Quantity::parse(gpus)}};
  node.capacity = node.allocatable;
  return node;
}

dialect::PodObject pod_object(const std::string& name) {
  dialect::PodObject pod;
  pod.ns = "ns";
  pod.name = name;
  pod.uid = name;
  pod.resource_version = "1";
  pod.scheduler = "default-scheduler";
  pod.phase = "Pending";
  dialect::ContainerObject container{.name = "main"};
  container.limits = {{"tencent.com/vcuda-core", *base::Quantity::parse("100")}};
  container.requests = container.limits;
  pod.containers = {container};
  return pod;
}

std::string event_text(const core::Event& event) {
  if (std::holds_alternative<core::NodeChanged>(event)) return "node;";
  if (const auto* e = std::get_if<core::PodSeenBound>(&event)) return "bound " + e->pod.uid + ";";
  if (const auto* e = std::get_if<core::PodGone>(&event)) return "gone " + e->uid + ";";
  if (const auto* e = std::get_if<core::PodNominated>(&event)) return "nominated " + e->node + ";";
  if (const auto* e = std::get_if<core::PodHeld>(&event)) {
    EXPECT_EQ(e->until, core::kUntilTold);
    const std::string& card = e->cards.containers[0][0].card;
    return "held " + e->pod.uid + " " + card.substr(card.find_last_of("/-") + 1) + ";";
  }
  return "other;";
}

class RosterPromiseTest : public ::testing::Test {
 protected:
  RosterPromiseTest() {
    roster_.pre_allocations().heed(0, std::chrono::seconds{660});
    roster_.pre_allocations().on_promise([this](const PreAllocations::Promised& promised) {
      const std::int64_t left = (promised.until.ns - kNow.ns) / kSecond;
      looks_ += promised.ns + "/" + promised.name + " in " + std::to_string(left) + ";";
    });
    roster_.see_node(node_object("4"));
    events();
  }

  // A pod that was promised this card so many seconds ago.
  dialect::PodObject promised(const std::string& name, std::uint32_t card, std::int64_t ago = 10) {
    auto pod = pod_object(name);
    const core::NodeSpec node{.name = "n",
                              .cards = {{.index = 0}, {.index = 1}, {.index = 2}, {.index = 3}}};
    pod.annotations = dialect::answer({.object = pod,
                                       .pod = *dialect::to_spec(pod, {}),
                                       .node = node,
                                       .cards = {.containers = {{{.card = card, .milli = 1000}}}},
                                       .unix_nanos = kUnixNow - ago * kSecond})
                          .annotations;
    return pod;
  }
  // As an informer does: what a list does not name is lost.
  void list(const std::vector<dialect::PodObject>& pods) {
    std::set<std::string> lost = std::exchange(listed_, {});
    roster_.begin_pods();
    for (const auto& pod : pods) {
      roster_.see_pod(pod);
      listed_.insert(pod.uid);
      lost.erase(pod.uid);
    }
    roster_.end_pods();
    for (const std::string& uid : lost) roster_.lose_pod(uid);
  }
  std::string events() {
    const auto taken = mailbox_.take_now(1000);
    std::string text;
    for (const auto& message : *taken) text += event_text(std::get<core::Event>(message));
    return text;
  }

  std::set<std::string> listed_;  // uids
  Mailbox mailbox_;
  std::string looks_;
  Roster roster_{built_in_profiles(),
                 mailbox_,
                 [](const Notice& /*unused*/) {},
                 {.unix_nanos = [] { return kUnixNow; }, .now = [] { return kNow; }}};
};

TEST_F(RosterPromiseTest, APromiseIsToldOnceAndLookedUpWhenItEnds) {
  roster_.see_pod(promised("p", 2));
  EXPECT_EQ(events(), "held p 2;");
  EXPECT_EQ(looks_, "ns/p in 650;");
  roster_.see_pod(promised("p", 2));
  EXPECT_EQ(events(), "");
}

// It may be bound by what stands on it: that is taken off it before anybody else gets the card.
TEST_F(RosterPromiseTest, APromiseThatIsOverIsHeldUntilItIsTakenOff) {
  roster_.see_pod(promised("late", 1, 700));
  auto refused = promised("refused", 2, 10);
  refused.unscheduled_reason = "SchedulerError";
  refused.unscheduled_since = "1970-01-01T00:16:38Z";
  roster_.see_pod(refused);
  EXPECT_EQ(events(), "held late 1;held refused 2;");
  EXPECT_EQ(looks_, "ns/late in -40;ns/refused in 0;");
}

TEST_F(RosterPromiseTest, TimesOfDecisionsGrow) {
  const auto pod = pod_object("p");
  EXPECT_EQ(roster_.decision_clock().next(pod), kUnixNow);
  EXPECT_EQ(roster_.decision_clock().next(pod), kUnixNow + 1) << "the clock stands still";
  roster_.see_pod(promised("ahead", 1, -30));  // by another replica, whose clock was ahead
  EXPECT_EQ(roster_.decision_clock().next(pod), kUnixNow + 30 * kSecond + 1);
  roster_.see_pod(promised("forged", 2, -100));
  EXPECT_EQ(roster_.decision_clock().next(pod), kUnixNow + 30 * kSecond + 2);
  auto bound = promised("bound", 3, -50);
  bound.node = "n";
  list({bound});
  EXPECT_EQ(roster_.decision_clock().next(pod), kUnixNow + 50 * kSecond + 1);
}

TEST_F(RosterPromiseTest, WhoLeadsAgainTellsPromisesAgain) {
  list({promised("p", 2)});
  EXPECT_EQ(events(), "held p 2;");
  roster_.stand_down();
  list({promised("p", 2)});
  EXPECT_EQ(events(), "") << "others decide";
  roster_.lead();
  EXPECT_EQ(events(), "held p 2;") << "though the pod has not changed";
  list({promised("p", 2)});
  EXPECT_EQ(events(), "");
}

TEST_F(RosterPromiseTest, PromisesAreToldAfterTheEndOfPodsThatAListDoesNotName) {
  roster_.stand_down();
  auto before = pod_object("z");
  before.node = "n";
  list({before});
  events();
  list({promised("p", 2)});
  roster_.lead();
  EXPECT_EQ(events(), "gone z;held p 2;") << "z may have had that card";
}

TEST_F(RosterPromiseTest, OnlyTheLastPromiseOfAPodIsToldAndNoneOfOneThatHasGoneOrIsBound) {
  roster_.stand_down();
  roster_.see_pod(promised("p", 2, 20));
  roster_.see_pod(promised("p", 3));
  roster_.see_pod(promised("gone", 1));
  roster_.lose_pod("gone");
  roster_.see_pod(promised("bound", 1));
  auto bound = promised("bound", 1);
  bound.node = "n";
  roster_.see_pod(bound);
  roster_.see_pod(promised("taken back", 0));
  roster_.see_pod(pod_object("taken back"));
  events();
  roster_.lead();
  EXPECT_EQ(events(), "held p 3;");
}

TEST_F(RosterPromiseTest, OfTwoPromisesTheLaterOneIsToldFirst) {
  roster_.stand_down();
  list({promised("a", 2, 20), promised("b", 2, 5)});
  roster_.lead();
  EXPECT_EQ(events(), "held b 2;held a 2;") << "the engine holds what is free";
}

TEST_F(RosterPromiseTest, APromiseOfACardThatIsAwayIsToldWhenItComes) {
  roster_.see_node(node_object("1"));
  roster_.stand_down();
  list({promised("p", 2)});
  roster_.lead();
  EXPECT_EQ(events(), "node;");
  roster_.see_node(node_object("4"));
  EXPECT_EQ(events(), "node;held p 2;");
}

TEST_F(RosterPromiseTest, APromiseSaysMoreThanANomination) {
  roster_.stand_down();
  auto pod = promised("p", 2);
  pod.nominated = "n";
  list({pod});
  EXPECT_EQ(events(), "nominated n;");
  roster_.lead();
  EXPECT_EQ(events(), "held p 2;");
  roster_.see_pod(pod);
  EXPECT_EQ(events(), "");
}

}  // namespace
}  // namespace stowage::scheduler
