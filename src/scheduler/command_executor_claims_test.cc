// Claims are bound before their pod.
#include "scheduler/testing/command_executor_fixture.h"

namespace stowage::scheduler::testing {
namespace {

TEST_F(CommandExecutorTest, APodWithoutClaimsIsBoundAtOnce) {
  start();
  bind({});
  EXPECT_EQ(told(), "done uid-p;");
  EXPECT_EQ(calls(), "POST binding;");
}

TEST_F(CommandExecutorTest, ClaimsAreBoundBeforeThePod) {
  server_.script("PATCH", kClaim, {reply(200, R"({"metadata":{"resourceVersion":"6"}})")});
  server_.script("GET", kVolume, {reply(200, R"({"metadata":{"resourceVersion":"40"}})")});
  server_.script("PATCH", kVolume, {reply(200)});
  start();
  bind({{.claim = "ns/more", .volume = "v1"}, {.claim = "ns/data", .volume = ""}});
  ASSERT_TRUE(called("PATCH", kClaim));
  EXPECT_EQ(calls(), "GET v1;PATCH v1;PATCH data;");
  EXPECT_EQ(claims_waiting_, 1U);
  const std::string volume = server_.seen("PATCH", kVolume).at(0).body;
  EXPECT_NE(volume.find(R"("resourceVersion":"40")"), std::string::npos) << volume;
  EXPECT_NE(volume.find(R"("name":"more","uid":"c2")"), std::string::npos) << volume;
  EXPECT_NE(server_.seen("PATCH", kClaim).at(0).body.find(R"(selected-node":"n1")"),
            std::string::npos);
  set_claim("ns/more", {.uid = "c2", .resource_version = "8", .volume = "v1", .bound = true});
  set_claim("ns/data", {.uid = "c1", .resource_version = "7", .selected_node = "n1"});
  run_for(loop_, milliseconds{10});
  EXPECT_TRUE(server_.seen("POST", kBinding).empty()) << "one claim is not bound yet";
  set_claim("ns/data", {.uid = "c1",
                        .resource_version = "9",
                        .volume = "made",
                        .selected_node = "n1",
                        .bound = true});
  EXPECT_EQ(told(), "done uid-p;");
  EXPECT_EQ(claims_waiting_, 0U);
  EXPECT_EQ(command_executor_->counters().claims.bound, 1U);
}

TEST_F(CommandExecutorTest, AVolumeThatChangesIsReadAgainAndOneThatIsTakenIsNotTakenAway) {
  server_.script("GET", kVolume,
                 {reply(200, R"({"metadata":{"resourceVersion":"40"}})"),
                  reply(200, R"({"metadata":{"resourceVersion":"41"},"spec":{"claimRef":)"
                             R"({"namespace":"ns","name":"other","uid":"x"}}})")});
  server_.script("PATCH", kVolume, {refuse(409, "Conflict", "changed")});
  start();
  bind({{.claim = "ns/data", .volume = "v1"}});
  EXPECT_EQ(told(), "failed uid-p;");
  EXPECT_EQ(calls(), "GET v1;PATCH v1;GET v1;");
  EXPECT_TRUE(has_event("volume v1 was bound to another claim meanwhile"));
}

TEST_F(CommandExecutorTest, AReplyThatWasLostAfterTheVolumeWasGivenIsNoHarm) {
  server_.script("GET", kVolume,
                 {reply(200, R"({"metadata":{"resourceVersion":"40"}})"),
                  reply(200, R"({"metadata":{"resourceVersion":"41"},"spec":{"claimRef":)"
                             R"({"namespace":"ns","name":"data","uid":"c1"}}})")});
  server_.script("PATCH", kVolume, {drop(), refuse(409, "Conflict", "changed")});
  start();
  bind({{.claim = "ns/data", .volume = "v1"}});
  ASSERT_TRUE(called("GET", kVolume, 2));
  set_claim("ns/data", {.uid = "c1", .resource_version = "8", .volume = "v1", .bound = true});
  EXPECT_EQ(told(), "done uid-p;");
}

TEST_F(CommandExecutorTest, AProvisionerThatGivesUpMakesThePodBePlacedAgain) {
  server_.script("PATCH", kClaim, {reply(200, R"({"metadata":{"resourceVersion":"6"}})")});
  start();
  bind({{.claim = "ns/data", .volume = ""}});
  ASSERT_TRUE(called("PATCH", kClaim));
  run_for(loop_, milliseconds{10});
  set_claim("ns/data", {.uid = "c1", .resource_version = "4"});
  EXPECT_EQ(event_queue_.sizes().replies, 0U) << "older than our write";
  set_claim("ns/data", {.uid = "c1", .resource_version = "7"});
  EXPECT_EQ(told(), "failed uid-p;");
  EXPECT_EQ(server_.seen("PATCH", kClaim).size(), 1U) << "nothing is left to undo";
  EXPECT_TRUE(has_event("the provisioner of claim ns/data rejected node n1"));
}

TEST_F(CommandExecutorTest, TheNodeIsTakenFromTheClaimWhenTimeIsUp) {
  server_.script("PATCH", kClaim, {reply(200, R"({"metadata":{"resourceVersion":"6"}})")});
  start(milliseconds{50});
  bind({{.claim = "ns/data", .volume = ""}});
  ASSERT_TRUE(called("PATCH", kClaim));
  set_claim("ns/data", {.uid = "c1", .resource_version = "6", .selected_node = "n1"});
  EXPECT_EQ(told(), "failed uid-p;");
  const auto seen = server_.seen("PATCH", kClaim);
  ASSERT_EQ(seen.size(), 2U) << "before the engine is told";
  EXPECT_NE(seen[1].body.find(R"(selected-node":null)"), std::string::npos);
  EXPECT_EQ(command_executor_->counters().claims.timed_out, 1U);
  EXPECT_EQ(command_executor_->counters().claims.waiting, 0U);
}

TEST_F(CommandExecutorTest, WhatWasWrittenIsUndoneWhenALaterStepFails) {
  server_.script("PATCH", kClaim, {reply(200, R"({"metadata":{"resourceVersion":"6"}})")});
  server_.script("PATCH", kMore, {refuse(403, "Forbidden", "no right")});
  start();
  bind({{.claim = "ns/data", .volume = ""}, {.claim = "ns/more", .volume = ""}});
  EXPECT_EQ(told(), "failed uid-p;");
  EXPECT_EQ(calls(), "PATCH data;PATCH more;PATCH data;");
}

TEST_F(CommandExecutorTest, AClaimThatGoesOrIsBoundElsewhereFailsTheBind) {
  server_.script("PATCH", kClaim, {reply(200)});
  start();
  bind({{.claim = "ns/none", .volume = ""}});
  EXPECT_EQ(told(), "failed uid-p;");
  bind({{.claim = "ns/data", .volume = ""}});
  ASSERT_TRUE(called("PATCH", kClaim));
  run_for(loop_, milliseconds{10});
  claims_.erase("ns/data");
  command_executor_->claim_changed("ns/data");
  EXPECT_EQ(told(), "failed uid-p;");
  claims_["ns/data"] = {.uid = "c1", .resource_version = "9", .volume = "v2", .bound = true};
  bind({{.claim = "ns/data", .volume = "v1"}});
  EXPECT_EQ(told(), "failed uid-p;");
}

TEST_F(CommandExecutorTest, APodThatGoesWhileItWaitsForVolumesIsForgotten) {
  server_.script("PATCH", kClaim, {reply(200)});
  start();
  bind({{.claim = "ns/data", .volume = ""}});
  ASSERT_TRUE(called("PATCH", kClaim));
  cluster_cache_.remove_pod("uid-p");
  EXPECT_TRUE(run_until(loop_, [&] { return claims_waiting_ == 0; }));
  EXPECT_EQ(event_queue_.sizes().replies, 0U);
  EXPECT_TRUE(server_.seen("POST", kBinding).empty());
}

}  // namespace
}  // namespace stowage::scheduler::testing
