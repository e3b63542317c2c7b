#include "kube/binder.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"

namespace stowage::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::FakeApiServer;
using testing::not_found;
using testing::refuse;
using testing::reply;
using testing::run_until;
using testing::SeenRequest;

constexpr const char* kPod = "/api/v1/namespaces/ns/pods/p";
constexpr const char* kBinding = "/api/v1/namespaces/ns/pods/p/binding";

struct PodState {
  std::string uid = "u1";
  std::string node;
  std::string annotation;
  bool deleting = false;
  bool gated = false;
};
std::string pod_json(const PodState& pod) {
  return fmt::format(
      R"({{"metadata":{{"name":"p","namespace":"ns","uid":"{}","annotations":{{"k":"{}"}}{}}},)"
      R"("spec":{{"nodeName":"{}"{},"containers":[]}}}})",
      pod.uid, pod.annotation, pod.deleting ? R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")" : "",
      pod.node, pod.gated ? R"(,"schedulingGates":[{"name":"g"}])" : "");
}

BindRequest ask(const std::string& name = "p") {
  return {.ns = "ns", .name = name, .uid = "u1", .node = "n1", .annotations = {{"k", "v"}}};
}

class BinderTest : public ::testing::Test {
 protected:
  Binder& start(BinderOptions options = {}) {
    options.pause_min = milliseconds{1};
    options.pause_max = milliseconds{5};
    client_ = server_.client({.retry_pause_default = milliseconds{5}});
    binder_ = std::make_unique<Binder>(*client_, options);
    return *binder_;
  }
  BindOutcome bind() {
    outcomes_.clear();
    binder_->bind(ask(), [this](BindOutcome outcome) { outcomes_.push_back(std::move(outcome)); });
    EXPECT_TRUE(outcomes_.empty()) << "called back too early";
    EXPECT_TRUE(run_until(loop_, [&] { return !outcomes_.empty(); }));
    return outcomes_.empty() ? BindOutcome{} : outcomes_[0];
  }

  net::EventLoop loop_;
  FakeApiServer server_{loop_};
  std::unique_ptr<ApiClient> client_;
  std::unique_ptr<Binder> binder_;
  std::vector<BindOutcome> outcomes_;
};

TEST_F(BinderTest, BindsWithUidAndAnnotations) {
  server_.script("POST", kBinding, {reply(201, R"({"kind":"Status","status":"Success"})")});
  start();
  const BindOutcome outcome = bind();
  EXPECT_EQ(outcome.result, BindResult::bound);
  EXPECT_EQ(outcome.node, "n1");
  EXPECT_EQ(outcome.code, 201);
  EXPECT_EQ(outcome.message, "");
  EXPECT_EQ(outcome.attempts, 1U);
  const std::string& body = server_.seen().at(0).body;
  EXPECT_NE(body.find(R"("uid":"u1")"), std::string::npos) << body;
  EXPECT_NE(body.find(R"("annotations":{"k":"v"})"), std::string::npos) << body;
  EXPECT_NE(body.find(R"("name":"n1")"), std::string::npos) << body;
  EXPECT_EQ(binder_->counters().bound, 1U);
}

struct BindingCase {
  const char* name;
  std::vector<FakeApiServer::Answer> posts;
  std::vector<FakeApiServer::Answer> gets;
  BindResult result;
  const char* message;  // a part of it
  std::size_t posts_seen;
  std::size_t gets_seen;
};

FakeApiServer::Answer conflict() { return refuse(409, "Conflict", "already assigned"); }
FakeApiServer::Answer pod(const PodState& state) { return reply(200, pod_json(state)); }

const PodState kFree{};
const PodState kOurs{.node = "n1", .annotation = "v"};

std::vector<BindingCase> clear_replies() {
  return {
      {"the pod is gone",
       {not_found("pods", "p")},
       {not_found("pods", "p")},
       BindResult::gone,
       "pods \"p\" not found",
       1,
       1},
      {"gone, and another one has its name",
       {not_found("pods", "p")},
       {pod({.uid = "u2"})},
       BindResult::gone,
       "its uid is u2, not u1",
       1,
       1},
      {"forbidden",
       {refuse(403, "Forbidden", "cannot create pods/binding")},
       {},
       BindResult::refused,
       "cannot create pods/binding; grant that right",
       1,
       0},
      {"invalid",
       {refuse(422, "Invalid", "bad annotation")},
       {},
       BindResult::refused,
       "bad annotation",
       1,
       0},
      {"assigned elsewhere",
       {conflict()},
       {pod({.node = "n2"})},
       BindResult::refused,
       "pod ns/p was bound to node n2 by another scheduler",
       1,
       1},
      {"assigned to the same node by another",
       {conflict()},
       {pod({.node = "n1"})},
       BindResult::refused,
       "by another scheduler",
       1,
       1},
      {"assigned by ourselves before", {conflict()}, {pod(kOurs)}, BindResult::bound, "", 1, 1},
      {"another pod of that name",
       {conflict()},
       {pod({.uid = "u2"})},
       BindResult::gone,
       "its uid is u2, not u1",
       1,
       1},
      {"being deleted",
       {conflict()},
       {pod({.deleting = true})},
       BindResult::refused,
       "being deleted",
       1,
       1},
      {"gated",
       {conflict()},
       {pod({.gated = true})},
       BindResult::refused,
       "already assigned",
       1,
       1},
  };
}

std::vector<BindingCase> open_replies() {
  return {
      {"a conflict without a cause is tried thrice",
       {conflict()},
       {pod(kFree)},
       BindResult::refused,
       "already assigned",
       3,
       3},
      {"a conflict that nobody explains",
       {conflict()},
       {refuse(403, "Forbidden", "no")},
       BindResult::refused,
       "already assigned",
       1,
       1},
      {"the reply was lost after the server acted",
       {testing::drop()},
       {pod(kOurs)},
       BindResult::bound,
       "",
       1,
       1},
      {"the request was lost before the server acted",
       {testing::drop(), reply(201)},
       {pod(kFree)},
       BindResult::bound,
       "",
       2,
       1},
      {"lost, and the pod went away",
       {testing::drop()},
       {not_found("pods", "p")},
       BindResult::gone,
       "not found",
       1,
       1},
      {"lost, and somebody else was faster",
       {testing::drop()},
       {pod({.node = "n3"})},
       BindResult::refused,
       "n3",
       1,
       1},
      {"lost, and the second one says conflict: the first one had worked",
       {testing::drop(), conflict()},
       {pod(kFree), pod(kOurs)},
       BindResult::bound,
       "",
       2,
       2},
      {"an internal error",
       {refuse(500, "InternalError", "etcd"), reply(201)},
       {pod(kFree)},
       BindResult::bound,
       "",
       2,
       1},
      {"unreadable for a while",
       {refuse(504, "Timeout", "etcd")},
       {refuse(500, "InternalError", "etcd"), testing::drop(), testing::drop(),
        reply(200, "no json"), pod(kOurs)},
       BindResult::bound,
       "",
       1,
       0},
      {"too busy for a while", {reply(429), reply(201)}, {}, BindResult::bound, "", 2, 0},
  };
}

// A proxy or an aggregated path answers 404 for objects that it does not know.
std::vector<BindingCase> not_found_replies() {
  return {
      {"a proxy that has lost its way to the server: the pod is there",
       {reply(404, "404 page not found"), reply(201)},
       {pod(kFree)},
       BindResult::bound,
       "",
       2,
       1},
      {"a 404 after the server has acted",
       {refuse(404, "NotFound", "no such route")},
       {pod(kOurs)},
       BindResult::bound,
       "",
       1,
       1},
      {"a 404 of the look itself is no word about the pod",
       {not_found("pods", "p"), reply(201)},
       {pod(kFree)},
       BindResult::bound,
       "",
       2,
       1},
      {"404 of a proxy, of another object and of the server",
       {reply(404, "{}")},
       {reply(404, "<html>"), not_found("namespaces", "ns"), not_found("pods", "q"),
        refuse(404, "NotFound", "pods p not found"), not_found("pods", "p")},
       BindResult::gone,
       "pods \"p\" not found",
       1,
       5},
  };
}

TEST_F(BinderTest, FindsOutWhatBecameOfEachBinding) {
  std::vector<BindingCase> rows = clear_replies();
  for (BindingCase& row : open_replies()) rows.push_back(std::move(row));
  for (BindingCase& row : not_found_replies()) rows.push_back(std::move(row));
  for (const BindingCase& row : rows) {
    FakeApiServer server(loop_);
    server.script("POST", kBinding, row.posts);
    server.script("GET", kPod, row.gets);
    const auto client = server.client({.retry_pause_default = milliseconds{2}});
    binder_ = std::make_unique<Binder>(
        *client, BinderOptions{.pause_min = milliseconds{1}, .pause_max = milliseconds{5}});
    const BindOutcome outcome = bind();
    EXPECT_EQ(outcome.result, row.result) << row.name << ": " << outcome.message;
    EXPECT_NE(outcome.message.find(row.message), std::string::npos)
        << row.name << ": " << outcome.message;
    EXPECT_EQ(outcome.message.empty(), outcome.result == BindResult::bound) << row.name;
    EXPECT_EQ(server.seen("POST", kBinding).size(), row.posts_seen) << row.name;
    if (row.gets_seen > 0) {
      EXPECT_EQ(server.seen("GET", kPod).size(), row.gets_seen) << row.name;
    }
    EXPECT_FALSE(outcome.maybe_bound) << row.name;
    binder_.reset();
  }
}

TEST_F(BinderTest, GivesUpAtItsDeadlineAndSaysThatThePodMayBeBound) {
  server_.script("POST", kBinding, {server_.hold()});
  server_.script("GET", kPod, {server_.hold()});
  start({.attempt_deadline = milliseconds{200}, .total_deadline = milliseconds{700}});
  const BindOutcome outcome = bind();
  EXPECT_EQ(outcome.result, BindResult::failed);
  EXPECT_TRUE(outcome.maybe_bound);
  EXPECT_NE(outcome.message.find("cannot bind pod ns/p to node n1: "), std::string::npos)
      << outcome.message;
}

TEST_F(BinderTest, WithoutAServerItFailsAndThePodIsNotBound) {
  start({.total_deadline = milliseconds{300}});
  server_.stop();
  const BindOutcome outcome = bind();
  EXPECT_EQ(outcome.result, BindResult::failed);
  EXPECT_FALSE(outcome.maybe_bound);
  EXPECT_GT(outcome.attempts, 1U);
}

TEST_F(BinderTest, CredentialsThatAreNotAcceptedFailAtOnce) {
  server_.script("POST", kBinding, {refuse(401, "Unauthorized", "who?")});
  start();
  const BindOutcome outcome = bind();
  EXPECT_EQ(outcome.result, BindResult::failed);
  EXPECT_FALSE(outcome.maybe_bound);
  EXPECT_EQ(outcome.code, 401);
}

TEST_F(BinderTest, KeepsSixtyFourInFlightAndTheRestInOrder) {
  start();
  std::vector<int> done;
  for (int i = 0; i < 70; ++i) {
    const std::string name = fmt::format("p{}", i);
    server_.script("POST", fmt::format("/api/v1/namespaces/ns/pods/{}/binding", name),
                   {server_.hold()});
    binder_->bind(ask(name), [&, i](const BindOutcome& outcome) {
      EXPECT_EQ(outcome.result, BindResult::bound);
      done.push_back(i);
    });
  }
  ASSERT_TRUE(run_until(loop_, [&] { return server_.held().size() == 64; }));
  EXPECT_EQ(binder_->counters().in_flight, 64U);
  EXPECT_EQ(binder_->counters().waiting, 6U);
  std::size_t answered = 0;
  ASSERT_TRUE(run_until(loop_, [&] {
    for (; answered < server_.held().size(); ++answered) {
      server_.held()[answered]->send({201, {}, "{}"});
    }
    return done.size() == 70;
  }));
  EXPECT_EQ(server_.seen().size(), 70U);
}

TEST_F(BinderTest, DrainingFinishesWhatIsInFlightAndTurnsTheRestAway) {
  server_.script("POST", kBinding, {server_.hold()});
  start({.in_flight_max = 1});
  std::vector<std::string> log;
  const auto note = [&](const std::string& who) {
    return [&log, who](const BindOutcome& outcome) {
      log.push_back(who + (outcome.result == BindResult::bound ? " bound" : " failed") +
                    (outcome.maybe_bound ? " maybe" : ""));
    };
  };
  binder_->bind(ask(), note("first"));
  binder_->bind(ask("q"), note("second"));
  ASSERT_TRUE(run_until(loop_, [&] { return server_.held().size() == 1; }));
  binder_->drain(seconds{20}, [&] { log.emplace_back("drained"); });
  binder_->bind(ask("r"), note("third"));
  ASSERT_TRUE(run_until(loop_, [&] { return log.size() == 2; }));
  server_.held()[0]->send({201, {}, "{}"});
  ASSERT_TRUE(run_until(loop_, [&] { return log.size() == 4; }));
  EXPECT_EQ(log,
            (std::vector<std::string>{"second failed", "third failed", "first bound", "drained"}));
}

TEST_F(BinderTest, DrainingEndsAtItsDeadline) {
  server_.script("POST", kBinding, {server_.hold()});
  start();
  std::vector<std::string> log;
  binder_->bind(ask(), [&](const BindOutcome& outcome) {
    log.emplace_back(outcome.maybe_bound ? "maybe" : "certain");
  });
  ASSERT_TRUE(run_until(loop_, [&] { return server_.held().size() == 1; }));
  binder_->drain(milliseconds{20}, [&] { log.emplace_back("drained"); });
  ASSERT_TRUE(run_until(loop_, [&] { return log.size() == 2; }));
  EXPECT_EQ(log, (std::vector<std::string>{"maybe", "drained"}));
  server_.held()[0]->send({201, {}, "{}"});
  testing::run_for(loop_, milliseconds{20});
  EXPECT_EQ(log.size(), 2U);
}

TEST_F(BinderTest, DrainingWhenIdleEndsAtOnce) {
  start();
  bool drained = false;
  binder_->drain(seconds{20}, [&] { drained = true; });
  EXPECT_TRUE(run_until(loop_, [&] { return drained; }));
}

TEST_F(BinderTest, MayBeDestroyedInItsOwnCallback) {
  server_.script("POST", kBinding, {reply(201)});
  start({.in_flight_max = 1});
  int calls = 0;
  for (int i = 0; i < 3; ++i) {
    binder_->bind(ask(), [&](const BindOutcome&) {
      ++calls;
      binder_.reset();
    });
  }
  ASSERT_TRUE(run_until(loop_, [&] { return calls > 0; }));
  testing::run_for(loop_, milliseconds{20});
  EXPECT_EQ(calls, 1);
}

TEST_F(BinderTest, NothingIsSentBehindTheFence) {
  server_.script("POST", kBinding, {reply(201)});
  net::Moment fence = loop_.now() - milliseconds{1};
  start({.fence = [&fence] { return fence; }});
  const BindOutcome late = bind();
  EXPECT_EQ(late.result, BindResult::failed);
  EXPECT_FALSE(late.maybe_bound);
  EXPECT_NE(late.message.find("this replica no longer leads"), std::string::npos);
  EXPECT_TRUE(server_.seen().empty());
  EXPECT_EQ(binder_->counters().fenced, 1U);
  EXPECT_EQ(binder_->counters().open_until, net::Moment{});
  // Half of the remaining time is for sending, half for the server.
  fence = loop_.now() + std::chrono::seconds{8};
  EXPECT_EQ(bind().result, BindResult::bound);
  const std::string told = server_.seen().at(0).query("timeout");
  ASSERT_TRUE(told.ends_with("ms")) << told;
  EXPECT_LE(std::stoi(told), 4000);
  EXPECT_GT(std::stoi(told), 10);
}

// A bind is being resolved while leadership is lost and regained: its cards may belong to other
// pods now.
TEST_F(BinderTest, WhatWasAskedForInAnEarlierTermIsNotSentAgain) {
  server_.script("POST", kBinding, {refuse(500, "InternalError", "busy"), reply(201)});
  server_.script("GET", kPod, {server_.hold()});
  start({.in_flight_max = 1});
  std::vector<std::string> log;
  const auto note = [&](const std::string& which) {
    return [&log, which](const BindOutcome& outcome) {
      log.push_back(which + (outcome.result == BindResult::failed ? " failed" : " ended") +
                    (outcome.maybe_bound ? " maybe" : ""));
    };
  };
  binder_->bind(ask(), note("first"));
  binder_->bind(ask("q"), note("second"));
  ASSERT_TRUE(run_until(loop_, [&] { return server_.held().size() == 1; }));
  binder_->end_term();
  EXPECT_EQ(binder_->counters().in_flight, 0U);
  EXPECT_GT(binder_->counters().open_until, loop_.now());
  std::sort(log.begin(), log.end());
  EXPECT_EQ(log, (std::vector<std::string>{"first failed maybe", "second failed"}));
  server_.held()[0]->send({200, {}, pod_json(kFree)});
  testing::run_for(loop_, milliseconds{50});
  EXPECT_EQ(server_.seen().size(), 2U) << "one POST and one GET";
  EXPECT_EQ(bind().result, BindResult::bound) << "the next term begins";
}

TEST_F(BinderTest, ALaterAttemptWithLessTimeDoesNotShortenAnEarlierOne) {
  server_.script("POST", kBinding, {refuse(500, "InternalError", "busy"), server_.hold()});
  server_.script("GET", kPod, {reply(200, pod_json(kFree))});
  net::Moment fence = loop_.now() + std::chrono::seconds{20};
  start({.fence = [&fence] { return fence; }});
  const net::Moment begun = loop_.now();
  binder_->bind(ask(), [](const BindOutcome& /*outcome*/) {});
  ASSERT_TRUE(run_until(loop_, [&] { return server_.seen("GET", kPod).size() == 1; }));
  fence = loop_.now() + std::chrono::seconds{2};
  ASSERT_TRUE(run_until(loop_, [&] { return server_.held().size() == 1; }));
  binder_->end_term();
  EXPECT_GT(binder_->counters().open_until, begun + std::chrono::seconds{15});
}

}  // namespace
}  // namespace stowage::kube
