#include "kube/object_access.h"

#include <optional>

#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"

namespace stowage::kube {
namespace {

using std::chrono::milliseconds;
using testing::drop;
using testing::FakeApiServer;
using testing::not_found;
using testing::refuse;
using testing::reply;
using testing::run_until;

constexpr const char* kPath = "/api/v1/namespaces/ns/pods/p";

class ObjectAccessTest : public ::testing::Test {
 protected:
  ObjectOutcome call(const std::string& method, net::Duration total = std::chrono::seconds{30}) {
    client_ = server_.client();
    access_ =
        std::make_unique<ObjectAccess>(*client_, ObjectAccessOptions{.total_deadline = total,
                                                                     .pause_min = milliseconds{1},
                                                                     .pause_max = milliseconds{4}});
    std::optional<ObjectOutcome> outcome;
    access_->call({.what = "change pod ns/p", .method = method, .target = kPath, .body = "{}"},
                  [&](ObjectOutcome got) { outcome = std::move(got); });
    EXPECT_FALSE(outcome) << "not before call() has returned";
    EXPECT_TRUE(run_until(loop_, [&] { return outcome.has_value(); }));
    EXPECT_EQ(access_->counters().under_way, 0U);
    return outcome.value_or(ObjectOutcome{});
  }

  net::EventLoop loop_;
  FakeApiServer server_{loop_};
  std::unique_ptr<ApiClient> client_;
  std::unique_ptr<ObjectAccess> access_;
};

TEST_F(ObjectAccessTest, WhatTheServerSaysIsTold) {
  struct Row {
    const char* name;
    FakeApiServer::Answer answer;
    ObjectResult result;
  };
  const Row rows[] = {
      {"done", reply(200, "{\"a\":1}"), ObjectResult::done},
      {"not there", not_found("pods", "p"), ObjectResult::gone},
      {"another version", refuse(409, "Conflict", "changed"), ObjectResult::conflict},
      {"not allowed", refuse(403, "Forbidden", "no right"), ObjectResult::refused},
      {"no sense", refuse(422, "Invalid", "bad"), ObjectResult::refused},
  };
  server_.script("GET", kPath, {not_found("pods", "p")});
  for (const auto& row : rows) {
    server_.script("PATCH", kPath, {row.answer});
    const ObjectOutcome outcome = call("PATCH");
    EXPECT_EQ(outcome.result, row.result) << row.name;
    EXPECT_EQ(outcome.message.empty(), row.result == ObjectResult::done) << row.name;
  }
  EXPECT_EQ(server_.seen("PATCH", kPath).size(), std::size(rows)) << "none of these is repeated";
  EXPECT_EQ(server_.seen("GET", kPath).size(), 1U);
  EXPECT_EQ(server_.seen().front().header("Content-Type"), "application/merge-patch+json");
}

TEST_F(ObjectAccessTest, LostRepliesAndFailuresOfTheServerAreTriedAgain) {
  server_.script("DELETE", kPath,
                 {drop(), refuse(500, "InternalError", "oops"),
                  refuse(503, "ServiceUnavailable", "later"), reply(200)});
  EXPECT_EQ(call("DELETE").result, ObjectResult::done);
  EXPECT_GE(access_->counters().repeated, 2U);
}

TEST_F(ObjectAccessTest, ANotFoundThatIsNotAboutTheObjectTellsNothing) {
  const FakeApiServer::Answer gone = not_found("pods", "p");
  struct Row {
    const char* name;
    std::vector<FakeApiServer::Answer> writes;
    std::vector<FakeApiServer::Answer> reads;
    ObjectResult result;
    std::size_t read;  // number of reads
  };
  const Row rows[] = {
      {"of a proxy", {reply(404, "404 page not found"), reply(200)}, {gone}, ObjectResult::done, 0},
      {"of something else",
       {not_found("namespaces", "ns"), not_found("pods", "q"), reply(200)},
       {gone},
       ObjectResult::done,
       0},
      {"of nothing in particular",
       {refuse(404, "NotFound", "pods p not found"), reply(200)},
       {gone},
       ObjectResult::done,
       0},
      {"of an object that is there", {gone, reply(200)}, {reply(200)}, ObjectResult::done, 1},
      {"of one that cannot be looked up",
       {gone, reply(200)},
       {refuse(500, "InternalError", "oops")},
       ObjectResult::done,
       1},
      {"of one that may not be read",
       {gone},
       {refuse(403, "Forbidden", "no right")},
       ObjectResult::gone,
       1},
      {"of one that has gone since", {gone}, {reply(200), gone}, ObjectResult::gone, 2},
      {"for ever", {reply(404, "{}")}, {gone}, ObjectResult::failed, 0},
      {"by mistake, for ever", {gone}, {reply(404, "{}")}, ObjectResult::failed, 1},
  };
  for (const Row& row : rows) {
    server_.script("DELETE", kPath, row.writes);
    server_.script("GET", kPath, row.reads);
    const std::size_t before = server_.seen("GET", kPath).size();
    const ObjectOutcome outcome = call("DELETE", milliseconds{200});
    EXPECT_EQ(outcome.result, row.result) << row.name;
    const std::size_t read = server_.seen("GET", kPath).size() - before;
    if (row.result == ObjectResult::failed) {
      EXPECT_GE(read, row.read) << row.name;
    } else {
      EXPECT_EQ(read, row.read) << row.name;
    }
  }
}

TEST_F(ObjectAccessTest, AReadThatFindsNothingIsNotRepeated) {
  server_.script("GET", kPath, {reply(404, "no route"), not_found("pods", "p")});
  EXPECT_EQ(call("GET").result, ObjectResult::gone);
  EXPECT_EQ(server_.seen("GET", kPath).size(), 2U);
}

TEST_F(ObjectAccessTest, AServerThatNeverAnswersWellIsGivenUp) {
  server_.script("DELETE", kPath, {refuse(500, "InternalError", "oops")});
  const ObjectOutcome outcome = call("DELETE", milliseconds{50});
  EXPECT_EQ(outcome.result, ObjectResult::failed);
  EXPECT_NE(outcome.message.find("oops"), std::string::npos) << outcome.message;
  EXPECT_EQ(access_->counters().failed, 1U);
}

TEST_F(ObjectAccessTest, NoCallbackComesAfterItsEnd) {
  server_.script("PATCH", kPath, {server_.hold()});
  client_ = server_.client();
  access_ = std::make_unique<ObjectAccess>(*client_);
  access_->call({.what = "x", .target = kPath, .body = "{}"},
                [](const ObjectOutcome&) { FAIL() << "called"; });
  ASSERT_TRUE(run_until(loop_, [&] { return !server_.held().empty(); }));
  access_.reset();
  server_.held().front()->send({.status = 200});
  testing::run_for(loop_, milliseconds{20});
}

}  // namespace
}  // namespace stowage::kube
