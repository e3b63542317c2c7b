// Pre-allocations: when cards that are written on unbound pods are sent to the engine.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dialect/dialect.h"
#include "scheduler/cluster_cache.h"

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

class ClusterCachePreAllocationTest : public ::testing::Test {
 protected:
  ClusterCachePreAllocationTest() {
    cluster_cache_.pre_allocations().enable_pre_allocations(0, std::chrono::seconds{660});
    cluster_cache_.pre_allocations().on_pre_allocation(
        [this](const PreAllocations::Announced& pre_allocated) {
          const std::int64_t left = (pre_allocated.until.ns - kNow.ns) / kSecond;
          looks_ +=
              pre_allocated.ns + "/" + pre_allocated.name + " in " + std::to_string(left) + ";";
        });
    cluster_cache_.upsert_node(node_object("4"));
    events();
  }

  // A pod that was pre-allocated this card this many seconds ago.
  dialect::PodObject pre_allocated(const std::string& name, std::uint32_t card,
                                   std::int64_t ago = 10) {
    auto pod = pod_object(name);
    const core::NodeSpec node{.name = "n",
                              .cards = {{.id = "n/0", .index = 0},
                                        {.id = "n/1", .index = 1},
                                        {.id = "n/2", .index = 2},
                                        {.id = "n/3", .index = 3}}};
    pod.annotations = dialect::answer({.object = pod,
                                       .pod = *dialect::to_spec(pod, {}),
                                       .node = node,
                                       .cards = {.containers = {{{.card = card, .milli = 1000}}}},
                                       .unix_nanos = kUnixNow - ago * kSecond})
                          .annotations;
    return pod;
  }
  // Like an informer: a pod that the list does not contain is deleted.
  void list(const std::vector<dialect::PodObject>& pods) {
    std::set<std::string> lost = std::exchange(listed_, {});
    cluster_cache_.begin_pods();
    for (const auto& pod : pods) {
      cluster_cache_.upsert_pod(pod);
      listed_.insert(pod.uid);
      lost.erase(pod.uid);
    }
    cluster_cache_.end_pods();
    for (const std::string& uid : lost) cluster_cache_.remove_pod(uid);
  }
  std::string events() {
    const auto taken = event_queue_.take_now(1000);
    std::string text;
    for (const auto& message : *taken) text += event_text(std::get<core::Event>(message));
    return text;
  }

  std::set<std::string> listed_;  // uids
  EventQueue event_queue_;
  std::string looks_;
  ClusterCache cluster_cache_{built_in_profiles(),
                              event_queue_,
                              [](const Notice& /*unused*/) {},
                              {.unix_nanos = [] { return kUnixNow; }, .now = [] { return kNow; }}};
};

TEST_F(ClusterCachePreAllocationTest, APreAllocationIsToldOnceAndLookedUpWhenItEnds) {
  cluster_cache_.upsert_pod(pre_allocated("p", 2));
  EXPECT_EQ(events(), "held p 2;");
  EXPECT_EQ(looks_, "ns/p in 650;");
  cluster_cache_.upsert_pod(pre_allocated("p", 2));
  EXPECT_EQ(events(), "");
}

// Its scheduler may still bind it by its annotation. The annotation is removed before another pod
// gets the card.
TEST_F(ClusterCachePreAllocationTest, APreAllocationThatIsOverIsHeldUntilItIsTakenOff) {
  cluster_cache_.upsert_pod(pre_allocated("late", 1, 700));
  auto refused = pre_allocated("refused", 2, 10);
  refused.unscheduled_reason = "SchedulerError";
  refused.unscheduled_since = "1970-01-01T00:16:38Z";
  cluster_cache_.upsert_pod(refused);
  EXPECT_EQ(events(), "held late 1;held refused 2;");
  EXPECT_EQ(looks_, "ns/late in -40;ns/refused in 0;");
}

TEST_F(ClusterCachePreAllocationTest, TimesOfDecisionsGrow) {
  const auto pod = pod_object("p");
  EXPECT_EQ(cluster_cache_.decision_clock().next(pod), kUnixNow);
  EXPECT_EQ(cluster_cache_.decision_clock().next(pod), kUnixNow + 1) << "the clock stands still";
  cluster_cache_.upsert_pod(
      pre_allocated("ahead", 1, -30));  // by another replica whose clock is ahead
  EXPECT_EQ(cluster_cache_.decision_clock().next(pod), kUnixNow + 30 * kSecond + 1);
  cluster_cache_.upsert_pod(pre_allocated("forged", 2, -100));
  EXPECT_EQ(cluster_cache_.decision_clock().next(pod), kUnixNow + 30 * kSecond + 2);
  auto bound = pre_allocated("bound", 3, -50);
  bound.node = "n";
  list({bound});
  EXPECT_EQ(cluster_cache_.decision_clock().next(pod), kUnixNow + 50 * kSecond + 1);
}

TEST_F(ClusterCachePreAllocationTest, WhoLeadsAgainTellsPreAllocationsAgain) {
  list({pre_allocated("p", 2)});
  EXPECT_EQ(events(), "held p 2;");
  cluster_cache_.stand_down();
  list({pre_allocated("p", 2)});
  EXPECT_EQ(events(), "") << "others decide";
  cluster_cache_.pre_allocations().lead();
  EXPECT_EQ(events(), "held p 2;") << "though the pod has not changed";
  list({pre_allocated("p", 2)});
  EXPECT_EQ(events(), "");
}

TEST_F(ClusterCachePreAllocationTest, PreAllocationsAreToldAfterTheEndOfPodsThatAListDoesNotName) {
  cluster_cache_.stand_down();
  auto before = pod_object("z");
  before.node = "n";
  list({before});
  events();
  list({pre_allocated("p", 2)});
  cluster_cache_.pre_allocations().lead();
  EXPECT_EQ(events(), "gone z;held p 2;") << "z may have had that card";
}

TEST_F(ClusterCachePreAllocationTest,
       OnlyTheLastPreAllocationOfAPodIsToldAndNoneOfOneThatHasGoneOrIsBound) {
  cluster_cache_.stand_down();
  cluster_cache_.upsert_pod(pre_allocated("p", 2, 20));
  cluster_cache_.upsert_pod(pre_allocated("p", 3));
  cluster_cache_.upsert_pod(pre_allocated("gone", 1));
  cluster_cache_.remove_pod("gone");
  cluster_cache_.upsert_pod(pre_allocated("bound", 1));
  auto bound = pre_allocated("bound", 1);
  bound.node = "n";
  cluster_cache_.upsert_pod(bound);
  cluster_cache_.upsert_pod(pre_allocated("taken back", 0));
  cluster_cache_.upsert_pod(pod_object("taken back"));
  events();
  cluster_cache_.pre_allocations().lead();
  EXPECT_EQ(events(), "held p 3;");
}

TEST_F(ClusterCachePreAllocationTest, OfTwoPreAllocationsTheLaterOneIsToldFirst) {
  cluster_cache_.stand_down();
  list({pre_allocated("a", 2, 20), pre_allocated("b", 2, 5)});
  cluster_cache_.pre_allocations().lead();
  EXPECT_EQ(events(), "held b 2;held a 2;") << "the engine holds what is free";
}

TEST_F(ClusterCachePreAllocationTest, APreAllocationOfACardThatIsAwayIsToldWhenItComes) {
  cluster_cache_.upsert_node(node_object("1"));
  cluster_cache_.stand_down();
  list({pre_allocated("p", 2)});
  cluster_cache_.pre_allocations().lead();
  EXPECT_EQ(events(), "node;");
  cluster_cache_.upsert_node(node_object("4"));
  EXPECT_EQ(events(), "node;held p 2;");
}

TEST_F(ClusterCachePreAllocationTest, APreAllocationSaysMoreThanANomination) {
  cluster_cache_.stand_down();
  auto pod = pre_allocated("p", 2);
  pod.nominated = "n";
  list({pod});
  EXPECT_EQ(events(), "nominated n;");
  cluster_cache_.pre_allocations().lead();
  EXPECT_EQ(events(), "held p 2;");
  cluster_cache_.upsert_pod(pod);
  EXPECT_EQ(events(), "");
}

}  // namespace
}  // namespace stowage::scheduler
