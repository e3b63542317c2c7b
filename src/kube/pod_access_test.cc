#include "kube/pod_access.h"

#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"

namespace stowage::kube {
namespace {

using std::chrono::milliseconds;
using testing::FakeApiServer;
using testing::refuse;
using testing::reply;
using testing::run_until;

constexpr const char* kPath = "/api/v1/namespaces/ns/pods/p";

class PodAccessTest : public ::testing::Test {
 protected:
  PodAccess& start() {
    client_ = server_.client();
    access_ =
        std::make_unique<PodAccess>(*client_, PodAccessOptions{.deadline = std::chrono::seconds{5},
                                                               .pause = milliseconds{1},
                                                               .fence = [this] { return fence_; }});
    return *access_;
  }
  // The error of a write, or "done".
  using Way = decltype(&PodAccess::write);
  std::string write(Way way = &PodAccess::write) {
    std::string result;
    (start().*way)({.ns = "ns", .name = "p"},
                   {.uid = "u", .annotations = {{"a", "1"}}, .labels = {{"b", "2"}}},
                   [&](const std::string& error) { result = error.empty() ? "done" : error; });
    EXPECT_TRUE(run_until(loop_, [&] { return !result.empty(); }));
    return result;
  }

  net::EventLoop loop_;
  FakeApiServer server_{loop_};
  std::unique_ptr<ApiClient> client_;
  std::unique_ptr<PodAccess> access_;
  net::Moment fence_ = net::Moment::max();
};

TEST_F(PodAccessTest, PatchesAnnotationsAndLabelsOfThePodThatIsMeant) {
  server_.script("PATCH", kPath, {reply(200)});
  EXPECT_EQ(write(), "done");
  const auto& seen = server_.seen().at(0);
  EXPECT_EQ(seen.body, R"({"metadata":{"uid":"u","annotations":{"a":"1"},"labels":{"b":"2"}}})");
  EXPECT_EQ(seen.header("Content-Type"), "application/merge-patch+json");
}

TEST_F(PodAccessTest, AConflictAndAFailureOfTheServerAreTriedAgain) {
  server_.script("PATCH", kPath, {refuse(409, "Conflict", "changed"), reply(200)});
  EXPECT_EQ(write(), "done");
  EXPECT_EQ(access_->counters().repeated, 1U);
}

TEST_F(PodAccessTest, ASecondConflictIsAnotherPod) {
  server_.script(
      "PATCH", kPath,
      {refuse(409, "Conflict", "uid mismatch"), refuse(409, "Conflict", "uid mismatch")});
  EXPECT_NE(write().find("uid mismatch"), std::string::npos);
  EXPECT_EQ(server_.seen().size(), 2U);
}

TEST_F(PodAccessTest, WhatTheServerForbidsIsNotTriedAgain) {
  server_.script("PATCH", kPath, {refuse(403, "Forbidden", "no right")});
  EXPECT_NE(write().find("no right"), std::string::npos);
  EXPECT_EQ(server_.seen().size(), 1U);
  EXPECT_EQ(access_->counters().failed, 1U);
}

TEST_F(PodAccessTest, WhatIsFencedTellsTheServerHowLongItMayTake) {
  server_.script("PATCH", kPath, {refuse(500, "InternalError", "busy"), reply(200)});
  fence_ = loop_.now() + milliseconds{2000};
  EXPECT_EQ(write(&PodAccess::write_fenced), "done");
  ASSERT_EQ(server_.seen().size(), 2U);
  for (const auto& seen : server_.seen()) {
    const std::size_t at = seen.target.find("?timeout=");
    ASSERT_NE(at, std::string::npos) << seen.target;
    const int millis = std::stoi(seen.target.substr(at + 9));
    EXPECT_GT(millis, 0);
    EXPECT_LE(millis, 1000) << "half of the time until the fence";
  }
}

TEST_F(PodAccessTest, BehindTheFenceNothingIsSent) {
  fence_ = loop_.now() - milliseconds{1};
  EXPECT_NE(write(&PodAccess::write_fenced).find("deadline passed"), std::string::npos);
  EXPECT_TRUE(server_.seen().empty());
  EXPECT_EQ(access_->counters().failed, 1U);
}

TEST_F(PodAccessTest, WhatIsFencedIsNotSentAgainInTheNextTerm) {
  server_.script("PATCH", kPath, {server_.hold(), reply(200)});
  std::string result;
  start().write_fenced({.ns = "ns", .name = "p"}, {.uid = "u", .annotations = {{"a", "1"}}},
                       [&](const std::string& error) { result = error; });
  ASSERT_TRUE(run_until(loop_, [&] { return server_.held().size() == 1; }));
  access_->end_term();
  server_.held()[0]->send({500, {}, "{}"});
  ASSERT_TRUE(run_until(loop_, [&] { return !result.empty(); }));
  EXPECT_NE(result.find("deadline passed"), std::string::npos) << result;
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(PodAccessTest, ReadsAPodAndKnowsOneThatIsNotThere) {
  server_.script("GET", kPath,
                 {reply(200, R"({"metadata":{"name":"p","namespace":"ns","uid":"u"}})"),
                  reply(404, "404 page not found"), testing::not_found("pods", "p")});
  std::string uid;
  start().read({.ns = "ns", .name = "p"}, [&](const auto& pod) { uid = pod->uid; });
  ASSERT_TRUE(run_until(loop_, [&] { return !uid.empty(); }));
  EXPECT_EQ(uid, "u");
  std::vector<bool> absent;
  const auto note = [&](const auto& pod) { absent.push_back(pod.error().absent); };
  access_->read({.ns = "ns", .name = "p"}, note);
  EXPECT_TRUE(run_until(loop_, [&] { return absent.size() == 1; }));
  access_->read({.ns = "ns", .name = "p"}, note);
  EXPECT_TRUE(run_until(loop_, [&] { return absent.size() == 2; }));
  EXPECT_EQ(absent, (std::vector<bool>{false, true})) << "a proxy knows nothing of pods";
}

}  // namespace
}  // namespace stowage::kube
