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
    promises_.heed(3, std::chrono::seconds{100});
    promises_.heed(4, std::chrono::seconds{60});
    promises_.on_promise([this](const PreAllocations::Promised& promised) {
      told_ +=
          promised.uid + " for " + std::to_string((promised.until.ns - now_.ns) / kSecond) + ";";
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
  dialect::PodObject promised(const std::string& uid, std::int64_t at = kUnixNow - 10 * kSecond) {
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
    kube::seal(*keys_,
               {.object = pod, .node = "n", .purpose = dialect::Purpose::promise, .unix_nanos = at},
               answer.annotations);
    pod.annotations = answer.annotations;
    return pod;
  }
  std::optional<Notice> see(const dialect::PodObject& pod) {
    return promises_.see(pods_.add(pod.uid, "ns/" + pod.name), pod);
  }
  std::string told() { return std::exchange(told_, {}); }

  kube::Keys keys_ = kube::testing::keys_from_seed("test", 1'000'000);
  base::Instant now_{5};
  PodCache pods_;
  NodeCache nodes_;
  Signatures signatures_;
  DecisionClock decision_clock_{[] { return kUnixNow; }};
  Mailbox mailbox_;
  PreAllocations promises_{{.unix_nanos = [] { return kUnixNow; }, .now = [this] { return now_; }},
                           {.pods = pods_,
                            .nodes = nodes_,
                            .signatures = signatures_,
                            .decision_clock = decision_clock_,
                            .mailbox = mailbox_}};
  int version_ = 0;
  std::string told_;
};

TEST_F(PreAllocationsTest, AreToldOncePerVersionForTheLongestTime) {
  add_node();
  const auto pod = promised("a");
  EXPECT_FALSE(see(pod));
  EXPECT_EQ(told(), "a for 100;");
  EXPECT_TRUE(pods_.find("a")->promise.told);
  EXPECT_FALSE(see(pod));
  EXPECT_EQ(told(), "");
  const auto messages = mailbox_.take_now(10);
  ASSERT_EQ(messages->size(), 1U);
  const auto& held = std::get<core::PodHeld>(std::get<core::Event>(messages->front()));
  EXPECT_EQ(held.pod.profile, 4U);
  EXPECT_EQ(held.until, core::kUntilTold);
  EXPECT_TRUE(held.is_signed);
}

TEST_F(PreAllocationsTest, OneLastsFromWhenItWasFirstSeen) {
  promises_.stand_down();
  add_node();
  (void)see(promised("a"));
  now_.ns += 30 * kSecond;
  (void)see(promised("a"));
  EXPECT_EQ(told(), "") << "others decide";
  promises_.node_changed("n");
  EXPECT_EQ(told(), "");
  promises_.lead();
  EXPECT_EQ(told(), "a for 70;");
  promises_.lead();
  EXPECT_EQ(told(), "");
}

TEST_F(PreAllocationsTest, OneThatEndedCountsNoMoreWhenItIsPutBack) {
  add_node();
  (void)see(promised("a"));
  EXPECT_EQ(told(), "a for 100;");
  promises_.ended("a");
  promises_.ended("never seen");
  (void)see(promised("a"));
  EXPECT_EQ(told(), "");
  (void)see(promised("a", kUnixNow - 20 * kSecond));
  EXPECT_EQ(told(), "") << "an older one";
  (void)see(promised("a", kUnixNow - 5 * kSecond));
  EXPECT_EQ(told(), "a for 100;") << "a new one";
}

TEST_F(PreAllocationsTest, OneOfAPodThatIsBoundOrGoneIsNotTold) {
  promises_.stand_down();
  add_node();
  (void)see(promised("a"));
  promises_.forget(*pods_.find("a"));
  promises_.lead();
  EXPECT_EQ(told(), "");
}

TEST_F(PreAllocationsTest, OneWithoutAGoodSignatureIsToldToPeopleOnce) {
  add_node();
  auto pod = promised("a");
  pod.uid = "b";
  const auto notice = see(pod);
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->kind, Notice::Kind::forged);
  pod.resource_version = "next";
  EXPECT_FALSE(see(pod));
  EXPECT_EQ(promises_.forged(), 1U);
  EXPECT_EQ(told(), "");
}

TEST_F(PreAllocationsTest, DecisionsAreLaterThanWhatWasPromised) {
  add_node();
  (void)see(promised("a", kUnixNow + 30 * kSecond));
  EXPECT_EQ(decision_clock_.next({}), kUnixNow + 30 * kSecond + 1);
}

}  // namespace
}  // namespace stowage::scheduler
