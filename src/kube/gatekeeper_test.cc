#include "kube/gatekeeper.h"

#include <string>

#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"

namespace stowage::kube {
namespace {

using namespace std::chrono_literals;
using testing::FakeApiServer;
using testing::reply;
using testing::run_until;

constexpr const char* kTokens = "/apis/authentication.k8s.io/v1/tokenreviews";
constexpr const char* kAccess = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
constexpr const char* kKnown =
    R"({"status":{"authenticated":true,"user":{"username":"u","groups":["g"]}}})";

struct GatekeeperTest : ::testing::Test {
  net::EventLoop loop;
  FakeApiServer server{loop};
  std::unique_ptr<ApiClient> client = server.client();

  Gatekeeper::Verdict ask(Gatekeeper& keeper, const std::string& authorization) {
    std::optional<Gatekeeper::Verdict> verdict;
    keeper.ask({.authorization = authorization, .verb = "get", .path = "/debug/state"},
               [&](const Gatekeeper::Verdict& answer) { verdict = answer; });
    EXPECT_TRUE(run_until(loop, [&] { return verdict.has_value(); }));
    return verdict.value_or(Gatekeeper::Verdict{.status = 0});
  }
};

TEST_F(GatekeeperTest, AsksForTheUserAndThenForTheRight) {
  server.script("POST", kTokens, {reply(201, kKnown)});
  server.script("POST", kAccess, {reply(201, R"({"status":{"allowed":true}})")});
  Gatekeeper keeper(*client);
  const auto verdict = ask(keeper, "Bearer secret");
  EXPECT_EQ(verdict.status, 200);
  EXPECT_EQ(verdict.user, "u");
  EXPECT_NE(server.seen("POST", kTokens).at(0).body.find(R"("token":"secret")"), std::string::npos);
  EXPECT_NE(server.seen("POST", kAccess).at(0).body.find(R"("path":"/debug/state","verb":"get")"),
            std::string::npos);
  EXPECT_EQ(ask(keeper, "bearer  secret").status, 200);
  EXPECT_EQ(server.seen("POST", kTokens).size(), 1U) << "the answer was kept";
  EXPECT_EQ(ask(keeper, "Bearer other").status, 200);
  EXPECT_EQ(server.seen("POST", kTokens).size(), 2U);
}

TEST_F(GatekeeperTest, RefusesWhoIsNotKnownOrMayNot) {
  Gatekeeper keeper(*client);
  EXPECT_EQ(ask(keeper, "").status, 401);
  EXPECT_EQ(ask(keeper, "Basic abc").status, 401);
  EXPECT_EQ(ask(keeper, "Bearer ").status, 401);
  EXPECT_EQ(ask(keeper, "Bearer " + std::string(20'000, 'x')).status, 401);
  EXPECT_TRUE(server.seen().empty());
  server.script("POST", kTokens, {reply(201, R"({"status":{"error":"expired"}})")});
  EXPECT_EQ(ask(keeper, "Bearer a").status, 401);
  server.script("POST", kTokens, {reply(201, kKnown)});
  server.script("POST", kAccess, {reply(201, R"({"status":{"allowed":false}})")});
  const auto verdict = ask(keeper, "Bearer b");
  EXPECT_EQ(verdict.status, 403);
  EXPECT_EQ(verdict.why, "u may not get /debug/state: it needs a role with nonResourceURLs");
  EXPECT_EQ(keeper.counters().refused, 6U);
}

TEST_F(GatekeeperTest, FailsClosedAndKeepsNoFailure) {
  server.script("POST", kTokens, {testing::refuse(403, "Forbidden", "no")});
  Gatekeeper keeper(*client);
  EXPECT_EQ(ask(keeper, "Bearer a").status, 503);
  server.script("POST", kTokens, {reply(201, "nonsense")});
  EXPECT_EQ(ask(keeper, "Bearer a").status, 503);
  server.script("POST", kTokens, {reply(201, kKnown)});
  server.script("POST", kAccess, {reply(201, "{}")});
  EXPECT_EQ(ask(keeper, "Bearer a").status, 503);
  server.script("POST", kAccess, {reply(201, R"({"status":{"allowed":true}})")});
  EXPECT_EQ(ask(keeper, "Bearer a").status, 200);
  EXPECT_EQ(keeper.counters().failed, 3U);
}

TEST_F(GatekeeperTest, BoundsTheQuestionsUnderWay) {
  server.script("POST", kTokens, {server.hold()});
  Gatekeeper keeper(*client, {.under_way_max = 1});
  int answered = 0;
  keeper.ask({.authorization = "Bearer a", .verb = "get", .path = "/"},
             [&](const Gatekeeper::Verdict& /*unused*/) { ++answered; });
  EXPECT_EQ(ask(keeper, "Bearer b").status, 503);
  EXPECT_EQ(answered, 0);
}

}  // namespace
}  // namespace stowage::kube
