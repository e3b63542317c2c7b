#include "scheduler/promises.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"

namespace stowage::scheduler {
namespace {

using kube::testing::FakeApiServer;
using kube::testing::refuse;
using kube::testing::reply;
using kube::testing::run_for;
using kube::testing::run_until;
using std::chrono::milliseconds;

constexpr const char* kPath = "/api/v1/namespaces/ns/pods/p";

std::string pod_json(const std::string& uid, const std::string& node) {
  return fmt::format(
      R"({{"metadata":{{"namespace":"ns","name":"p","uid":"{}","resourceVersion":"7"}},)"
      R"("spec":{{"nodeName":"{}","schedulerName":"other","containers":[{{"name":"c"}}]}}}})",
      uid, node);
}

class PromisesTest : public ::testing::Test {
 protected:
  PromisesTest() {
    dialect::PodObject pod{.ns = "ns", .name = "p", .uid = "u", .scheduler = "other"};
    pod.containers = {dialect::ContainerObject{.name = "c"}};
    roster_.see_pod(pod);
  }

  void watch(net::Duration lasts = {}) {
    promises_.watch({.uid = "u", .pod = {.ns = "ns", .name = "p"}, .until = loop_.now() + lasts});
  }
  std::string events() {
    std::string text;
    const auto taken = mailbox_.take_now(100);
    for (const auto& message : *taken) {
      const auto& event = std::get<core::Event>(message);
      if (std::holds_alternative<core::HoldEnded>(event)) text += "ended;";
      if (std::holds_alternative<core::PodGone>(event)) text += "gone;";
      if (const auto* e = std::get_if<core::PodSeenBound>(&event)) text += "on " + e->node + ";";
    }
    return text;
  }
  // What the engine is told when the server answers so.
  std::string told(FakeApiServer::Answer answer) {
    server_.script("GET", kPath, {std::move(answer)});
    watch();
    EXPECT_TRUE(run_until(loop_, [&] { return promises_.size() == 0; }));
    return events();
  }

  net::EventLoop loop_;
  FakeApiServer server_{loop_};
  std::unique_ptr<kube::ApiClient> client_ = server_.client();
  kube::PodAccess pods_{*client_};
  Mailbox mailbox_;
  Roster roster_{
      built_in_profiles(),
      mailbox_,
      [](const Notice& /*unused*/) {},
      {.unix_nanos = [] { return std::int64_t{0}; }, .now = [] { return base::Instant{}; }}};
  Promises promises_{{.look_every = milliseconds{2}, .again = milliseconds{20}},
                     {.roster = roster_, .mailbox = mailbox_, .pods = pods_, .loop = loop_}};
};

TEST_F(PromisesTest, AHoldEndsByWhatThePodIsLikeThen) {
  EXPECT_EQ(told(reply(200, pod_json("u", ""))), "ended;");
  EXPECT_EQ(told(reply(200, pod_json("another", "n"))), "gone;");
  EXPECT_EQ(told(kube::testing::not_found("pods", "p")), "gone;");
  EXPECT_EQ(told(reply(200, pod_json("u", "n"))), "on n;") << "bound, and we had not heard of it";
}

TEST_F(PromisesTest, ItIsNotLookedUpBeforeItsTimeAndUntilThereIsAnAnswer) {
  server_.script("GET", kPath, {refuse(403, "Forbidden", "no"), reply(200, pod_json("u", ""))});
  watch(milliseconds{50});
  run_for(loop_, milliseconds{10});
  EXPECT_TRUE(server_.seen().empty());
  ASSERT_TRUE(run_until(loop_, [&] { return promises_.size() == 0; }));
  EXPECT_EQ(server_.seen().size(), 2U);
  EXPECT_EQ(events(), "ended;");
}

TEST_F(PromisesTest, WhatIsForgottenMeanwhileEndsNothing) {
  server_.script("GET", kPath, {server_.hold()});
  watch();
  ASSERT_TRUE(run_until(loop_, [&] { return !server_.held().empty(); }));
  promises_.forget("u");
  watch(std::chrono::hours{1});  // promised anew
  server_.held().front()->send({.status = 200, .headers = {}, .body = pod_json("u", "")});
  run_for(loop_, milliseconds{50});
  EXPECT_EQ(events(), "");
  EXPECT_EQ(promises_.size(), 1U);
}

TEST_F(PromisesTest, APodThatWasSeenOnItsNodeIsNotLookedUp) {
  dialect::PodObject pod{.ns = "ns", .name = "p", .uid = "u", .node = "n"};
  roster_.see_pod(pod);
  watch();
  ASSERT_TRUE(run_until(loop_, [&] { return promises_.size() == 0; }));
  EXPECT_TRUE(server_.seen().empty());
}

}  // namespace
}  // namespace stowage::scheduler
