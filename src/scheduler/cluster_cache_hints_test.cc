// Notices about pods that no scheduler handles, and about annotations that have no effect.
#include <gtest/gtest.h>

#include "scheduler/cluster_cache.h"

namespace stowage::scheduler {
namespace {

dialect::PodObject pod_object(const std::string& name, const std::string& gpus = "1") {
  dialect::PodObject pod;
  pod.ns = "ns";
  pod.name = name;
  pod.uid = name;
  pod.scheduler = "stowage";
  pod.phase = "Pending";
  dialect::ContainerObject container{.name = "main"};
  container.requests = {{"nvidia.com/gpu", *base::Quantity::parse(gpus)}};
  container.limits = container.requests;
  pod.containers = {container};
  return pod;
}

class ClusterCacheHintsTest : public ::testing::Test {
 protected:
  ClusterCacheHintsTest() { event_queue_.open(); }

  std::string notices() {
    std::string text;
    for (const auto& notice : notices_) text += notice.name + ";";
    notices_.clear();
    return text;
  }

  base::Instant now_{5};
  EventQueue event_queue_;
  std::vector<Notice> notices_;
  ClusterCache cluster_cache_{built_in_profiles(),
                              event_queue_,
                              [this](const Notice& notice) { notices_.push_back(notice); },
                              {.unix_nanos = [] { return std::int64_t{1'000'000'000'000}; },
                               .now = [this] { return now_; }}};
};

TEST_F(ClusterCacheHintsTest, AnAnnotationUnderOurNameThatMeansNothingIsToldOnce) {
  auto odd = pod_object("odd");
  odd.annotations = {{"stowage.dev/gpu-modle", "a100"}};
  cluster_cache_.upsert_pod(odd);
  EXPECT_EQ(event_queue_.sizes().pending, 1U) << "it is placed all the same";
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_EQ(notices_[0].kind, Notice::Kind::unknown_key);
  EXPECT_NE(notices_[0].text.find("did you mean stowage.dev/gpu-model?"), std::string::npos);
  notices_.clear();
  cluster_cache_.upsert_pod(odd);
  EXPECT_EQ(notices(), "");
  auto theirs = odd;
  theirs.uid = theirs.name = "theirs";
  theirs.scheduler = "default-scheduler";
  cluster_cache_.upsert_pod(theirs);
  EXPECT_EQ(notices(), "theirs;") << "it asks for cards, perhaps through an extender";
  auto other = pod_object("other", "0");
  other.scheduler = "default-scheduler";
  other.annotations = odd.annotations;
  cluster_cache_.upsert_pod(other);
  EXPECT_EQ(notices(), "") << "it is none of our business";
}

TEST_F(ClusterCacheHintsTest, APodThatNoSchedulerLooksAtIsTold) {
  auto stray = pod_object("stray");
  stray.scheduler = "stowge";
  cluster_cache_.upsert_pod(stray);
  auto cpu_only = pod_object("cpu-only", "0");
  cpu_only.scheduler = "nobody";
  cluster_cache_.upsert_pod(cpu_only);
  auto refused = pod_object("refused");
  refused.scheduler = "default-scheduler";
  cluster_cache_.upsert_pod(refused);
  cluster_cache_.external_pods().report_ignored();
  EXPECT_EQ(notices(), "");
  refused.unscheduled_reason = "Unschedulable";
  cluster_cache_.upsert_pod(refused);
  now_.ns += 61'000'000'000;
  cluster_cache_.upsert_pod(stray);
  cluster_cache_.external_pods().report_ignored();
  ASSERT_EQ(notices_.size(), 1U) << notices();
  EXPECT_EQ(notices_[0].kind, Notice::Kind::ignored);
  EXPECT_TRUE(
      notices_[0].text.starts_with("no scheduler has handled this pod for 60 s: check its "
                                   "schedulerName \"stowge\". Did you mean "
                                   "stowage?"))
      << notices_[0].text;
  notices_.clear();
  now_.ns += 600'000'000'000;
  cluster_cache_.external_pods().report_ignored();
  EXPECT_EQ(notices(), "") << "once";
  auto late = pod_object("late");
  late.scheduler = "nobody";
  cluster_cache_.upsert_pod(late);
  cluster_cache_.remove_pod("late");
  now_.ns += 600'000'000'000;
  cluster_cache_.external_pods().report_ignored();
  EXPECT_EQ(notices(), "");
}

}  // namespace
}  // namespace stowage::scheduler
