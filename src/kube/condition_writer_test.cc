#include "kube/condition_writer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"

namespace stowage::kube {
namespace {

using std::chrono::milliseconds;
using testing::FakeApiServer;
using testing::refuse;
using testing::reply;
using testing::run_until;

const WallTime kNow = WallTime{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};

std::string status_path(const std::string& pod) {
  return fmt::format("/api/v1/namespaces/ns/pods/{}/status", pod);
}

ConditionRequest ask(const std::string& pod, const std::string& message) {
  return {.ns = "ns", .name = pod, .uid = "u-" + pod, .message = message};
}

class ConditionWriterTest : public ::testing::Test {
 protected:
  ConditionWriter& start(ConditionWriterOptions options = {}) {
    options.wall_clock = [] { return kNow; };
    options.pause_min = milliseconds{1};
    options.pause_max = milliseconds{4};
    client_ = server_.client();
    writer_ = std::make_unique<ConditionWriter>(*client_, options);
    return *writer_;
  }
  [[nodiscard]] bool written(std::uint64_t count) {
    return run_until(loop_, [&] { return writer_->counters().written >= count; });
  }
  // The messages that the server has seen for the pod.
  [[nodiscard]] std::vector<std::string> messages(const std::string& pod) const {
    std::vector<std::string> found;
    for (const auto& each : server_.seen("PATCH", status_path(pod))) {
      const std::size_t from = each.body.find("\"message\":\"") + 11;
      found.push_back(each.body.substr(from, each.body.find('"', from) - from));
    }
    return found;
  }

  net::EventLoop loop_;
  FakeApiServer server_{loop_};
  std::unique_ptr<ApiClient> client_;
  std::unique_ptr<ConditionWriter> writer_;
};

TEST_F(ConditionWriterTest, PatchesTheCondition) {
  server_.script("PATCH", status_path("p"), {reply(200)});
  start().write(ask("p", "no room"));
  ASSERT_TRUE(written(1));
  const auto& seen = server_.seen().at(0);
  EXPECT_EQ(seen.header("Content-Type"), "application/strategic-merge-patch+json");
  EXPECT_EQ(seen.body,
            R"({"metadata":{"uid":"u-p"},"status":{"conditions":[{"type":"PodScheduled",)"
            R"("status":"False","reason":"Unschedulable","message":"no room",)"
            R"("lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
}

TEST_F(ConditionWriterTest, TheTimeOfTheTransitionIsWrittenOnce) {
  server_.script("PATCH", status_path("p"), {reply(200)});
  server_.script("PATCH", status_path("q"), {reply(200)});
  start().write(ask("p", "one"));
  ASSERT_TRUE(written(1));
  ConditionRequest second = ask("p", "two");
  second.reason = "QuotaExceeded";
  writer_->write(second);
  ASSERT_TRUE(written(2));
  ConditionRequest known = ask("q", "three");
  known.was_false = true;
  writer_->write(known);
  ASSERT_TRUE(written(3));
  EXPECT_EQ(server_.seen().at(1).body,
            R"({"metadata":{"uid":"u-p"},"status":{"conditions":[{"type":"PodScheduled",)"
            R"("status":"False","reason":"QuotaExceeded","message":"two"}]}})");
  EXPECT_EQ(server_.seen().at(2).body.find("lastTransitionTime"), std::string::npos);
}

TEST_F(ConditionWriterTest, DoesNotWriteTheSameTwice) {
  server_.script("PATCH", status_path("p"), {reply(200)});
  start().write(ask("p", "one"));
  writer_->write(ask("p", "one"));  // while it is on its way
  ASSERT_TRUE(written(1));
  writer_->write(ask("p", "one"));
  testing::run_for(loop_, milliseconds{20});
  EXPECT_EQ(messages("p"), std::vector<std::string>{"one"});
  EXPECT_EQ(writer_->counters().unchanged, 2U);
  writer_->forget("u-p");
  writer_->write(ask("p", "one"));
  ASSERT_TRUE(written(2));
}

TEST_F(ConditionWriterTest, TheNewestWinsAndOrderIsKept) {
  server_.script("PATCH", status_path("p"), {server_.hold(), reply(200)});
  start().write(ask("p", "one"));
  ASSERT_TRUE(run_until(loop_, [&] { return server_.held().size() == 1; }));
  for (const char* message : {"two", "three", "four"}) writer_->write(ask("p", message));
  testing::run_for(loop_, milliseconds{10});
  EXPECT_EQ(messages("p").size(), 1U) << "one call per pod at a time";
  server_.held()[0]->send({200, {}, "{}"});
  ASSERT_TRUE(written(2));
  EXPECT_EQ(messages("p"), (std::vector<std::string>{"one", "four"}));
  EXPECT_EQ(writer_->counters().replaced, 2U);
}

TEST_F(ConditionWriterTest, GoingBackToWhatIsOnItsWayCancelsWhatWaits) {
  server_.script("PATCH", status_path("p"), {server_.hold(), reply(200)});
  start().write(ask("p", "one"));
  writer_->write(ask("p", "two"));
  writer_->write(ask("p", "one"));
  ASSERT_TRUE(run_until(loop_, [&] { return server_.held().size() == 1; }));
  server_.held()[0]->send({200, {}, "{}"});
  ASSERT_TRUE(written(1));
  testing::run_for(loop_, milliseconds{10});
  EXPECT_EQ(messages("p"), std::vector<std::string>{"one"});
  EXPECT_EQ(writer_->counters().waiting, 0U);
}

TEST_F(ConditionWriterTest, WhatIsForgottenIsNotSent) {
  server_.script("PATCH", status_path("p"), {server_.hold()});
  server_.script("PATCH", status_path("q"), {reply(200)});
  start({.in_flight_max = 1}).write(ask("p", "one"));
  writer_->write(ask("q", "two"));
  ASSERT_TRUE(run_until(loop_, [&] { return server_.held().size() == 1; }));
  writer_->forget("u-q");
  server_.held()[0]->send({200, {}, "{}"});
  ASSERT_TRUE(written(1));
  testing::run_for(loop_, milliseconds{10});
  EXPECT_TRUE(messages("q").empty());
}

TEST_F(ConditionWriterTest, APodThatHasMovedOnIsIgnored) {
  server_.script("PATCH", status_path("p"), {refuse(404, "NotFound", "gone")});
  server_.script("PATCH", status_path("q"), {refuse(409, "Conflict", "another uid")});
  start().write(ask("p", "one"));
  writer_->write(ask("q", "one"));
  ASSERT_TRUE(run_until(loop_, [&] { return writer_->counters().ignored == 2; }));
  EXPECT_EQ(writer_->counters().failed, 0U);
}

TEST_F(ConditionWriterTest, FailuresAreRepeatedAfterAPauseButNotForEver) {
  server_.script("PATCH", status_path("p"),
                 {refuse(500, "InternalError", "etcd"), testing::drop(), reply(200)});
  server_.script("PATCH", status_path("q"), {refuse(500, "InternalError", "etcd")});
  server_.script("PATCH", status_path("r"), {refuse(403, "Forbidden", "cannot patch")});
  start({.attempts_max = 4}).write(ask("p", "one"));
  ASSERT_TRUE(written(1));
  EXPECT_EQ(messages("p").size(), 3U);
  writer_->write(ask("q", "one"));
  ASSERT_TRUE(run_until(loop_, [&] { return writer_->counters().failed == 1; }));
  EXPECT_EQ(messages("q").size(), 4U);
  writer_->write(ask("r", "one"));
  ASSERT_TRUE(run_until(loop_, [&] { return writer_->counters().failed == 2; }));
  EXPECT_EQ(messages("r").size(), 1U);
  EXPECT_NE(writer_->counters().last_error.find("cannot patch"), std::string::npos);
  EXPECT_EQ(writer_->counters().waiting, 0U);
}

TEST_F(ConditionWriterTest, TheLongestWaitingIsDroppedWhenTheQueueIsFull) {
  server_.script("PATCH", status_path("p"), {server_.hold()});
  start({.in_flight_max = 1, .waiting_max = 2}).write(ask("p", "x"));
  for (const char* pod : {"a", "b", "c", "d"}) {
    server_.script("PATCH", status_path(pod), {reply(200)});
    writer_->write(ask(pod, "x"));
  }
  ASSERT_TRUE(run_until(loop_, [&] { return server_.held().size() == 1; }));
  server_.held()[0]->send({200, {}, "{}"});
  ASSERT_TRUE(written(3));
  EXPECT_EQ(writer_->counters().dropped, 2U);
  EXPECT_TRUE(messages("a").empty());
  EXPECT_TRUE(messages("b").empty());
  EXPECT_EQ(messages("d").size(), 1U);
}

}  // namespace
}  // namespace stowage::kube
