#include "scheduler/pre_allocations.h"

#include <gtest/gtest.h>

#include "dialect/dialect.h"
#include "kube/testing/fixed_keys.h"

namespace stowage::scheduler {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kUnixNow = 2'000'000 * kSecond;
const core::NodeSpec kNode{.name = "n",
                           .cards = {{.id = "n/0", .index = 0}, {.id = "n/1", .index = 1}}};

class PreAllocationsTest : public ::testing::Test {
 protected:
  PreAllocationsTest() {
    (void)signatures_.use_keys(keys_);
    pre_allocations_.enable_pre_allocations(3, std::chrono::seconds{100});
    pre_allocations_.enable_pre_allocations(4, std::chrono::seconds{60});
    pre_allocations_.on_pre_allocation([this](const PreAllocations::Announced& pre_allocated) {
      reported_ += pre_allocated.uid + " for " +
                   std::to_string((pre_allocated.until.ns - now_.ns) / kSecond) + ";";
    });
  }
  void add_node() {
    dialect::NodeObject node;
    node.name = "n";
    node.allocatable = {{"pods", *base::Quantity::parse("110")},
                        {"nvidia.com/gpu", *base::Quantity::parse("2")}};
    node.capacity = node.allocatable;
    (void)nodes_.update(node);
  }
  dialect::PodObject pre_allocated(const std::string& uid,
                                   std::int64_t at = kUnixNow - 10 * kSecond) {
    dialect::PodObject pod;
    pod.ns = "ns";
    pod.name = pod.uid = uid;
    pod.resource_version = std::to_string(++version_);
    pod.scheduler = "default-scheduler";
    pod.created = "1970-01-24T03:33:00Z";
    dialect::ContainerObject container{.name = "main"};
    container.limits = {{"tencent.com/vcuda-core", *base::Quantity::parse("100")}};
    container.requests = container.limits;
    pod.containers = {container};
    dialect::Answer answer =
        dialect::answer({.object = pod,
                         .pod = *dialect::to_spec(pod, {}),
                         .node = kNode,
                         .cards = {.containers = {{{.card = 1, .milli = 1000}}}},
                         .unix_nanos = at});
    kube::seal(
        *keys_,
        {.object = pod, .node = "n", .purpose = dialect::Purpose::pre_allocation, .unix_nanos = at},
        answer.annotations);
    pod.annotations = answer.annotations;
    return pod;
  }
  std::optional<Notice> see(const dialect::PodObject& pod) {
    return pre_allocations_.see(pods_.add(pod.uid, "ns/" + pod.name), pod);
  }
  std::string told() { return std::exchange(reported_, {}); }

  kube::Keys keys_ = kube::testing::keys_from_seed("test", 1'000'000);
  base::Instant now_{5};
  PodCache pods_;
  NodeCache nodes_;
  Signatures signatures_;
  DecisionClock decision_clock_{[] { return kUnixNow; }};
  EventQueue event_queue_;
  PreAllocations pre_allocations_{
      {.unix_nanos = [] { return kUnixNow; }, .now = [this] { return now_; }},
      {.pods = pods_,
       .nodes = nodes_,
       .signatures = signatures_,
       .decision_clock = decision_clock_,
       .event_queue = event_queue_}};
  int version_ = 0;
  std::string reported_;
};

TEST_F(PreAllocationsTest, AreToldOncePerVersionForTheLongestTime) {
  add_node();
  const auto pod = pre_allocated("a");
  EXPECT_FALSE(see(pod));
  EXPECT_EQ(told(), "a for 100;");
  EXPECT_TRUE(pods_.find("a")->pre_allocation.told);
  EXPECT_FALSE(see(pod));
  EXPECT_EQ(told(), "");
  const auto messages = event_queue_.take_now(10);
  ASSERT_EQ(messages->size(), 1U);
  const auto& held = std::get<core::PodHeld>(std::get<core::Event>(messages->front()));
  EXPECT_EQ(held.pod.profile, 4U);
  EXPECT_EQ(held.until, core::kUntilTold);
  EXPECT_TRUE(held.is_signed);
}

TEST_F(PreAllocationsTest, OneLastsFromWhenItWasFirstSeen) {
  pre_allocations_.stand_down();
  add_node();
  (void)see(pre_allocated("a"));
  now_.ns += 30 * kSecond;
  (void)see(pre_allocated("a"));
  EXPECT_EQ(told(), "") << "others decide";
  pre_allocations_.node_changed("n");
  EXPECT_EQ(told(), "");
  pre_allocations_.lead();
  EXPECT_EQ(told(), "a for 70;");
  pre_allocations_.lead();
  EXPECT_EQ(told(), "");
}

TEST_F(PreAllocationsTest, OneThatEndedCountsNoMoreWhenItIsPutBack) {
  add_node();
  (void)see(pre_allocated("a"));
  EXPECT_EQ(told(), "a for 100;");
  pre_allocations_.ended("a");
  pre_allocations_.ended("never seen");
  (void)see(pre_allocated("a"));
  EXPECT_EQ(told(), "");
  (void)see(pre_allocated("a", kUnixNow - 20 * kSecond));
  EXPECT_EQ(told(), "") << "an older one";
  (void)see(pre_allocated("a", kUnixNow - 5 * kSecond));
  EXPECT_EQ(told(), "a for 100;") << "a new one";
}

TEST_F(PreAllocationsTest, OneOfAPodThatIsBoundOrGoneIsNotTold) {
  pre_allocations_.stand_down();
  add_node();
  (void)see(pre_allocated("a"));
  pre_allocations_.forget(*pods_.find("a"));
  pre_allocations_.lead();
  EXPECT_EQ(told(), "");
}

TEST_F(PreAllocationsTest, OneWithoutAGoodSignatureIsToldToPeopleOnce) {
  add_node();
  auto pod = pre_allocated("a");
  pod.uid = "b";
  const auto notice = see(pod);
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->kind, Notice::Kind::untrusted);
  pod.resource_version = "next";
  EXPECT_FALSE(see(pod));
  EXPECT_EQ(pre_allocations_.untrusted(), 1U);
  EXPECT_EQ(told(), "");
}

TEST_F(PreAllocationsTest, DecisionsAreLaterThanWhatWasPreAllocated) {
  add_node();
  (void)see(pre_allocated("a", kUnixNow + 30 * kSecond));
  EXPECT_EQ(decision_clock_.next({}), kUnixNow + 30 * kSecond + 1);
}

}  // namespace
}  // namespace stowage::scheduler
