#include "scheduler/unbound_external_pods.h"

#include <variant>

#include <gtest/gtest.h>

#include "scheduler/decision_clock.h"
#include "scheduler/profile.h"
#include "scheduler/signatures.h"

namespace stowage::scheduler {
namespace {

dialect::PodObject pod_object(const std::string& nominated = "") {
  dialect::PodObject pod{.ns = "ns", .name = "p", .uid = "u"};
  pod.scheduler = "stowge";
  pod.phase = "Pending";
  pod.nominated = nominated;
  dialect::ContainerObject container{.name = "main"};
  container.requests = {{"nvidia.com/gpu", *base::Quantity::parse("1")}};
  pod.containers = {container};
  return pod;
}

class ExternalPodsTest : public ::testing::Test {
 protected:
  ExternalPodsTest() { event_queue_.open(); }

  PodCache::Entry& entry() { return pods_.add("u", "ns/p"); }
  // "n;": the nodes of the nominations since the last call.
  std::string nominated() {
    std::string text;
    const auto taken = event_queue_.take_now(1000);
    for (const auto& message : *taken) {
      text += std::get<core::PodNominated>(std::get<core::Event>(message)).node + ";";
    }
    return text;
  }

  base::Instant now_{5};
  EventQueue event_queue_;
  std::vector<Notice> notices_;
  OnNotice on_notice_ = [this](const Notice& notice) { notices_.push_back(notice); };
  PodClassifier classifier_{built_in_profiles()};
  NodeCache nodes_;
  PodCache pods_;
  Signatures signatures_;
  DecisionClock decision_clock_{[] { return std::int64_t{1}; }};
  PreAllocations pre_allocations_{
      {.unix_nanos = [] { return std::int64_t{1}; }, .now = [this] { return now_; }},
      {.pods = pods_,
       .nodes = nodes_,
       .signatures = signatures_,
       .decision_clock = decision_clock_,
       .event_queue = event_queue_}};
  UnboundExternalPods external_pods_{[this] { return now_; },
                                     {.classifier = classifier_,
                                      .pods = pods_,
                                      .nodes = nodes_,
                                      .pre_allocations = pre_allocations_,
                                      .event_queue = event_queue_,
                                      .on_notice = on_notice_}};
};

TEST_F(ExternalPodsTest, SendsANominationAndItsEnd) {
  int seen = 0;
  external_pods_.on_seen([&](const dialect::PodObject&) { ++seen; });
  external_pods_.update(entry(), pod_object());
  EXPECT_EQ(nominated(), "");
  external_pods_.update(entry(), pod_object("n"));
  EXPECT_EQ(nominated(), "n;");
  external_pods_.update(entry(), pod_object());
  EXPECT_EQ(nominated(), ";") << "no longer nominated";
  EXPECT_EQ(seen, 3);
  EXPECT_TRUE(entry().told);
}

TEST_F(ExternalPodsTest, SendsNoNominationOfAPodWithAPreAllocation) {
  entry().pre_allocation.told = true;
  external_pods_.update(entry(), pod_object("n"));
  EXPECT_EQ(nominated(), "");
}

TEST_F(ExternalPodsTest, ReportsAnIgnoredPodOnceAndOnlyWhileItLeads) {
  external_pods_.update(entry(), pod_object());
  now_.ns += 61'000'000'000;
  pre_allocations_.stand_down();
  external_pods_.report_ignored();
  EXPECT_TRUE(notices_.empty());
  pre_allocations_.lead();
  external_pods_.report_ignored();
  external_pods_.report_ignored();
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_EQ(notices_[0].kind, Notice::Kind::ignored);
  EXPECT_EQ(notices_[0].ns + "/" + notices_[0].name, "ns/p");
}

TEST_F(ExternalPodsTest, ReportsNoPodThatItForgot) {
  external_pods_.update(entry(), pod_object());
  external_pods_.forget(entry());
  now_.ns += 61'000'000'000;
  external_pods_.report_ignored();
  EXPECT_TRUE(notices_.empty());
}

}  // namespace
}  // namespace stowage::scheduler
