#include "kube/delegated_auth.h"

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

struct DelegatedAuthTest : ::testing::Test {
  net::EventLoop loop;
  FakeApiServer server{loop};
  std::unique_ptr<ApiClient> client = server.client();

  DelegatedAuth::Verdict ask(DelegatedAuth& keeper, const std::string& authorization) {
    std::optional<DelegatedAuth::Verdict> verdict;
    keeper.ask({.authorization = authorization, .verb = "get", .path = "/debug/state"},
               [&](const DelegatedAuth::Verdict& answer) { verdict = answer; });
    EXPECT_TRUE(run_until(loop, [&] { return verdict.has_value(); }));
    return verdict.value_or(DelegatedAuth::Verdict{.status = 0});
  }
};

TEST_F(DelegatedAuthTest, AsksForTheUserAndThenForTheRight) {
  server.script("POST", kTokens, {reply(201, kKnown)});
  server.script("POST", kAccess, {reply(201, R"({"status":{"allowed":true}})")});
  DelegatedAuth keeper(*client);
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

TEST_F(DelegatedAuthTest, RefusesWhoIsNotKnownOrMayNot) {
  DelegatedAuth keeper(*client);
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

TEST_F(DelegatedAuthTest, TokensAreIssuedForAnAudience) {
  const auto identify = [&](DelegatedAuth& keeper, const std::string& token) {
    std::optional<DelegatedAuth::Identity> identity;
    keeper.identify("Bearer " + token, "stowage.dev",
                    [&](const DelegatedAuth::Identity& answer) { identity = answer; });
    EXPECT_TRUE(run_until(loop, [&] { return identity.has_value(); }));
    return identity.value_or(DelegatedAuth::Identity{.status = 0});
  };
  DelegatedAuth keeper(*client);
  server.script("POST", kTokens, {reply(201, kKnown)});
  EXPECT_EQ(identify(keeper, "a").status, 401) << "made for somebody else";
  server.script("POST", kTokens,
                {reply(201, R"({"status":{"authenticated":true,"audiences":["stowage.dev"],)"
                            R"("user":{"username":"agent","extra":{"node":["n1"]}}}})")});
  const auto known = identify(keeper, "b");
  EXPECT_EQ(known.status, 200);
  EXPECT_EQ(known.who.user, "agent");
  EXPECT_EQ(known.who.extra.at("node"), std::vector<std::string>{"n1"});
  EXPECT_EQ(identify(keeper, "b").status, 200);
  EXPECT_EQ(server.seen("POST", kTokens).size(), 2U) << "the answer was kept";
  EXPECT_NE(server.seen("POST", kTokens).at(1).body.find(R"("audiences":["stowage.dev"])"),
            std::string::npos);
}

TEST_F(DelegatedAuthTest, VerdictsAreKeptForWhoAndWhat) {
  server.script("POST", kAccess, {reply(201, R"({"status":{"allowed":true}})")});
  DelegatedAuth keeper(*client);
  const auto may = [&](const codec::UserInfo& who, const std::string& verb) {
    int status = 0;
    keeper.authorise(who, {.verb = verb, .group = "g", .resource = "things"},
                     [&](const DelegatedAuth::Verdict& verdict) { status = verdict.status; });
    EXPECT_TRUE(run_until(loop, [&] { return status != 0; }));
    return status;
  };
  EXPECT_EQ(may({.user = "u", .groups = {"a"}}, "list"), 200);
  EXPECT_EQ(may({.user = "u", .groups = {"a"}}, "list"), 200);
  EXPECT_EQ(server.seen("POST", kAccess).size(), 1U);
  EXPECT_EQ(may({.user = "u", .groups = {"b"}}, "list"), 200) << "who else they are counts";
  EXPECT_EQ(may({.user = "u", .groups = {"a"}}, "watch"), 200);
  EXPECT_EQ(server.seen("POST", kAccess).size(), 3U);
}

TEST_F(DelegatedAuthTest, FailsClosedAndKeepsNoFailure) {
  server.script("POST", kTokens, {testing::refuse(403, "Forbidden", "no")});
  DelegatedAuth keeper(*client);
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

TEST_F(DelegatedAuthTest, BoundsTheQuestionsUnderWay) {
  server.script("POST", kTokens, {server.hold()});
  DelegatedAuth keeper(*client, {.under_way_max = 1});
  int answered = 0;
  keeper.ask({.authorization = "Bearer a", .verb = "get", .path = "/"},
             [&](const DelegatedAuth::Verdict& /*unused*/) { ++answered; });
  EXPECT_EQ(ask(keeper, "Bearer b").status, 503);
  EXPECT_EQ(answered, 0);
}

}  // namespace
}  // namespace stowage::kube
