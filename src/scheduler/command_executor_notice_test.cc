// Notices about annotations that do not count.
#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"
#include "scheduler/command_executor.h"

namespace stowage::scheduler {
namespace {

using kube::testing::FakeApiServer;
using kube::testing::reply;
using kube::testing::run_for;
using kube::testing::run_until;
using std::chrono::milliseconds;

constexpr const char* kNoticeEvents = "/apis/events.k8s.io/v1/namespaces/ns/events";

class CommandExecutorNoticeTest : public ::testing::Test {
 protected:
  CommandExecutorNoticeTest() {
    server_.script("POST", kNoticeEvents, {reply(201)});
    dialect::PodObject pod;
    pod.ns = "ns";
    pod.name = "p";
    pod.uid = "uid-p";
    pod.scheduler = "another";
    cluster_cache_.upsert_pod(pod);
  }
  [[nodiscard]] std::size_t events() const { return server_.seen("POST", kNoticeEvents).size(); }

  net::EventLoop loop_;
  FakeApiServer server_{loop_};
  base::Log log_{{.write = [](std::string_view) {}}};
  std::vector<Profile> profiles_ = built_in_profiles();
  std::unique_ptr<kube::ApiClient> client_ = server_.client();
  EventQueue event_queue_;
  kube::Binder binder_{*client_};
  kube::EventRecorder recorder_{*client_, {.instance = "test"}};
  kube::ConditionWriter conditions_{*client_};
  kube::PodAccess pods_{*client_};
  kube::ObjectAccess objects_{*client_};
  ClusterCache cluster_cache_{
      profiles_,
      event_queue_,
      [](const Notice&) {},
      {.unix_nanos = [] { return std::int64_t{0}; }, .now = [] { return base::Instant{}; }}};
  CommandExecutor command_executor_{{.claims = {}, .profiles = profiles_},
                                    {.cluster_cache = cluster_cache_,
                                     .event_queue = event_queue_,
                                     .binder = binder_,
                                     .recorder = recorder_,
                                     .conditions = conditions_,
                                     .pods = pods_,
                                     .objects = objects_,
                                     .loop = loop_,
                                     .log = log_,
                                     .wall_clock = client_->wall_clock(),
                                     .claim = [](const std::string&) { return nullptr; },
                                     .on_claims_waiting = [](std::size_t) {}}};
};

// After a restart all pods are seen before we lead, and no other replica has reported them.
TEST_F(CommandExecutorNoticeTest, WhatWasUntrustedBeforeWeLedIsToldOnceWeDo) {
  command_executor_.stand_down();
  command_executor_.report(
      {.kind = Notice::Kind::untrusted, .ns = "ns", .name = "p", .uid = "uid-p", .text = "x"});
  command_executor_.report(
      {.kind = Notice::Kind::untrusted, .ns = "ns", .name = "q", .uid = "gone", .text = "y"});
  run_for(loop_, milliseconds{10});
  EXPECT_EQ(events(), 0U);
  command_executor_.lead();
  ASSERT_TRUE(run_until(loop_, [&] { return events() > 0; }));
  EXPECT_NE(server_.seen("POST", kNoticeEvents).at(0).body.find("UntrustedAnnotation"),
            std::string::npos);
  command_executor_.stand_down();
  command_executor_.lead();
  run_for(loop_, milliseconds{20});
  EXPECT_EQ(events(), 1U);
}

// The previous leader may have ended before it reported this, or there was none.
TEST_F(CommandExecutorNoticeTest, WhoWasRefusedBeforeWeLedIsToldOnceWeDo) {
  command_executor_.stand_down();
  command_executor_.report(
      {.kind = Notice::Kind::invalid, .ns = "ns", .name = "p", .uid = "uid-p", .text = "absurd"});
  run_for(loop_, milliseconds{10});
  EXPECT_EQ(events(), 0U);
  command_executor_.lead();
  ASSERT_TRUE(run_until(loop_, [&] { return events() > 0; }));
  EXPECT_NE(server_.seen("POST", kNoticeEvents).at(0).body.find("absurd"), std::string::npos);
}

}  // namespace
}  // namespace stowage::scheduler
