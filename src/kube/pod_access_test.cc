#include "kube/pod_access.h"

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
  std::string write() {
    start().write({.ns = "ns", .name = "p"},
                  {.uid = "u", .annotations = {{"a", "1"}}, .labels = {{"b", "2"}}}, written());
    return result();
  }
  PodAccess::Written written() {
    result_.clear();
    return [this](const std::string& error) { result_ = error.empty() ? "done" : error; };
  }
  std::string result() {
    EXPECT_TRUE(run_until(loop_, [&] { return !result_.empty(); }));
    return result_;
  }
  // A fenced write that sets annotation `a`, decided on version 7 of the pod.
  void begin_fenced(PodAccess::Rebase rebase = {}, const std::string& version = "7") {
    if (!access_) start();
    access_->write_fenced({.ns = "ns", .name = "p"}, request(version), std::move(rebase),
                          written());
  }
  std::string write_fenced(PodAccess::Rebase rebase = {}, const std::string& version = "7") {
    begin_fenced(std::move(rebase), version);
    return result();
  }
  static codec::MetadataRequest request(const std::string& version) {
    return {.uid = "u", .annotations = {{"a", "1"}}, .resource_version = version, .remove = {"z"}};
  }
  // Accepts every change of the pod.
  PodAccess::Rebase any_change() {
    return [this](const dialect::PodObject& now) -> Result<codec::MetadataRequest> {
      ++rebases_;
      return request(now.resource_version);
    };
  }
  static FakeApiServer::Answer pod(int version, const std::string& annotations = "{}") {
    return reply(200, fmt::format(R"({{"metadata":{{"name":"p","namespace":"ns","uid":"u",)"
                                  R"("resourceVersion":"{}","annotations":{}}}}})",
                                  version, annotations));
  }
  static std::string body(const std::string& version) {
    return fmt::format(
        R"({{"metadata":{{"uid":"u","resourceVersion":"{}","annotations":{{"a":"1","z":null}}}}}})",
        version);
  }

  net::EventLoop loop_;
  FakeApiServer server_{loop_};
  std::unique_ptr<ApiClient> client_;
  std::unique_ptr<PodAccess> access_;
  net::Moment fence_ = net::Moment::max();
  std::string result_;
  int rebases_ = 0;
};

const auto kChanged = refuse(409, "Conflict", "the object has been modified");

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
  EXPECT_EQ(write_fenced(), "done");
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
  EXPECT_NE(write_fenced().find("deadline passed"), std::string::npos);
  EXPECT_TRUE(server_.seen().empty());
  EXPECT_EQ(access_->counters().failed, 1U);
}

TEST_F(PodAccessTest, WhatIsFencedIsNotSentAgainInTheNextTerm) {
  server_.script("PATCH", kPath, {server_.hold(), reply(200)});
  begin_fenced();
  ASSERT_TRUE(run_until(loop_, [&] { return server_.held().size() == 1; }));
  access_->end_term();
  server_.held()[0]->send({500, {}, "{}"});
  EXPECT_NE(result().find("deadline passed"), std::string::npos) << result_;
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(PodAccessTest, AFencedWriteNamesTheVersionOfThePod) {
  server_.script("PATCH", kPath, {kChanged});
  EXPECT_NE(write_fenced().find("modified"), std::string::npos);
  ASSERT_EQ(server_.seen().size(), 1U) << "without rebase, a conflict is the answer";
  EXPECT_EQ(server_.seen()[0].body, body("7"));
}

TEST_F(PodAccessTest, AChangeByOthersDoesNotMakeAFencedWriteFail) {
  server_.script("PATCH", kPath, {kChanged, kChanged, reply(200)});
  server_.script("GET", kPath, {pod(8), pod(9)});
  EXPECT_EQ(write_fenced(any_change()), "done");
  EXPECT_EQ(rebases_, 2);
  const auto sent = server_.seen("PATCH", kPath);
  ASSERT_EQ(sent.size(), 3U);
  EXPECT_EQ(sent[1].body, body("8"));
  EXPECT_EQ(sent[2].body, body("9"));
  EXPECT_EQ(access_->counters().failed, 0U);
}

TEST_F(PodAccessTest, APodThatChangesWithoutEndEndsAFencedWrite) {
  server_.script("PATCH", kPath, {kChanged});
  server_.script("GET", kPath, {pod(8)});
  EXPECT_NE(write_fenced(any_change()).find("modified"), std::string::npos);
  EXPECT_EQ(rebases_, 8);
}

TEST_F(PodAccessTest, AFencedWriteIsGivenUpIfTheChangeForbidsIt) {
  server_.script("PATCH", kPath, {kChanged, reply(200)});
  server_.script("GET", kPath, {pod(8, R"({"a":"2"})")});
  EXPECT_EQ(write_fenced([](const auto& now) -> Result<codec::MetadataRequest> {
              return fail("a is " + now.annotations.at("a"));
            }),
            "a is 2");
  EXPECT_EQ(server_.seen("PATCH", kPath).size(), 1U);
}

TEST_F(PodAccessTest, AnAttemptWithoutAReplyThatWasExecutedIsSuccess) {
  server_.script("PATCH", kPath, {reply(503), kChanged});
  server_.script("GET", kPath, {pod(8, R"({"a":"1"})")});
  EXPECT_EQ(write_fenced(any_change()), "done");
  EXPECT_EQ(rebases_, 0);
}

TEST_F(PodAccessTest, WithoutAVersionThePodIsReadFirst) {
  server_.script("GET", kPath, {pod(4, R"({"a":"1"})")});
  server_.script("PATCH", kPath, {reply(200)});
  EXPECT_EQ(write_fenced(any_change(), ""), "done");
  EXPECT_EQ(server_.seen("PATCH", kPath).at(0).body, body("4"));
}

TEST_F(PodAccessTest, AFencedWriteIsOpenUntilItsReplyOrItsTimeLimit) {
  server_.script("PATCH", kPath, {server_.hold(), server_.hold()});
  fence_ = loop_.now() + std::chrono::seconds{2};
  begin_fenced();
  EXPECT_GT(access_->open_until(), loop_.now() + milliseconds{1900});
  EXPECT_LE(access_->open_until(), fence_);
  ASSERT_TRUE(run_until(loop_, [&] { return server_.held().size() == 1; }));
  server_.held()[0]->send({200, {}, "{}"});
  EXPECT_EQ(result(), "done");
  EXPECT_EQ(access_->open_until(), net::Moment{});
  begin_fenced();
  ASSERT_TRUE(run_until(loop_, [&] { return server_.held().size() == 2; }));
  access_->end_term();
  server_.held()[1]->send({503, {}, "{}"});
  EXPECT_NE(result(), "done");
  EXPECT_GT(access_->open_until(), loop_.now()) << "the server may still execute it";
}

TEST_F(PodAccessTest, DrainingWaitsForFencedWritesAndRefusesNewOnes) {
  server_.script("PATCH", kPath, {server_.hold(), reply(200)});
  begin_fenced();
  ASSERT_TRUE(run_until(loop_, [&] { return server_.held().size() == 1; }));
  bool drained = false;
  access_->drain(std::chrono::seconds{20}, [&] { drained = true; });
  testing::run_for(loop_, milliseconds{20});
  EXPECT_FALSE(drained);
  server_.held()[0]->send({200, {}, "{}"});
  ASSERT_TRUE(run_until(loop_, [&] { return drained; }));
  EXPECT_EQ(result_, "done");
  EXPECT_NE(write_fenced().find("deadline passed"), std::string::npos);
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(PodAccessTest, DrainingHasALimit) {
  server_.script("PATCH", kPath, {server_.hold()});
  begin_fenced();
  ASSERT_TRUE(run_until(loop_, [&] { return server_.held().size() == 1; }));
  bool drained = false;
  access_->drain(milliseconds{30}, [&] { drained = true; });
  ASSERT_TRUE(run_until(loop_, [&] { return drained; }));
  EXPECT_TRUE(result_.empty());
  EXPECT_GT(access_->open_until(), loop_.now());
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
