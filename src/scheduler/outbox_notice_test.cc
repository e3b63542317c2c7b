// What the outbox tells people of annotations that do not count.
#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"
#include "scheduler/outbox.h"

namespace stowage::scheduler {
namespace {

using kube::testing::FakeApiServer;
using kube::testing::reply;
using kube::testing::run_for;
using kube::testing::run_until;
using std::chrono::milliseconds;

constexpr const char* kNoticeEvents = "/apis/events.k8s.io/v1/namespaces/ns/events";

class OutboxNoticeTest : public ::testing::Test {
 protected:
  OutboxNoticeTest() {
    server_.script("POST", kNoticeEvents, {reply(201)});
    dialect::PodObject pod;
    pod.ns = "ns";
    pod.name = "p";
    pod.uid = "uid-p";
    pod.scheduler = "another";
    roster_.see_pod(pod);
  }
  [[nodiscard]] std::size_t events() const { return server_.seen("POST", kNoticeEvents).size(); }

  net::EventLoop loop_;
  FakeApiServer server_{loop_};
  base::Log log_{{.write = [](std::string_view) {}}};
  std::vector<Profile> profiles_ = built_in_profiles();
  std::unique_ptr<kube::ApiClient> client_ = server_.client();
  Mailbox mailbox_;
  kube::Binder binder_{*client_};
  kube::EventRecorder recorder_{*client_, {.instance = "test"}};
  kube::ConditionWriter conditions_{*client_};
  kube::PodAccess pods_{*client_};
  kube::ObjectAccess objects_{*client_};
  Roster roster_{
      profiles_,
      mailbox_,
      [](const Notice&) {},
      {.unix_nanos = [] { return std::int64_t{0}; }, .now = [] { return base::Instant{}; }}};
  Outbox outbox_{{.claims = {}, .profiles = profiles_},
                 {.roster = roster_,
                  .mailbox = mailbox_,
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

// After a restart all pods are seen before we lead, and nobody else has told of them.
TEST_F(OutboxNoticeTest, WhatWasForgedBeforeWeLedIsToldOnceWeDo) {
  outbox_.stand_down();
  outbox_.tell(
      {.kind = Notice::Kind::forged, .ns = "ns", .name = "p", .uid = "uid-p", .text = "x"});
  outbox_.tell({.kind = Notice::Kind::forged, .ns = "ns", .name = "q", .uid = "gone", .text = "y"});
  run_for(loop_, milliseconds{10});
  EXPECT_EQ(events(), 0U);
  outbox_.lead();
  ASSERT_TRUE(run_until(loop_, [&] { return events() > 0; }));
  EXPECT_NE(server_.seen("POST", kNoticeEvents).at(0).body.find("ForgedAnnotation"),
            std::string::npos);
  outbox_.stand_down();
  outbox_.lead();
  run_for(loop_, milliseconds{20});
  EXPECT_EQ(events(), 1U);
}

// The leader before us may have ended before it could say so, or there was none.
TEST_F(OutboxNoticeTest, WhoWasRefusedBeforeWeLedIsToldOnceWeDo) {
  outbox_.stand_down();
  outbox_.tell(
      {.kind = Notice::Kind::refused, .ns = "ns", .name = "p", .uid = "uid-p", .text = "absurd"});
  run_for(loop_, milliseconds{10});
  EXPECT_EQ(events(), 0U);
  outbox_.lead();
  ASSERT_TRUE(run_until(loop_, [&] { return events() > 0; }));
  EXPECT_NE(server_.seen("POST", kNoticeEvents).at(0).body.find("absurd"), std::string::npos);
}

}  // namespace
}  // namespace stowage::scheduler
