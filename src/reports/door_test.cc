#include "reports/door.h"

#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"
#include "net/http_client.h"

namespace stowage::reports {
namespace {

using namespace std::chrono_literals;
using kube::testing::FakeApiServer;
using kube::testing::reply;
using kube::testing::run_for;
using kube::testing::run_until;

constexpr const char* kTokens = "/apis/authentication.k8s.io/v1/tokenreviews";
constexpr const char* kAccount = "system:serviceaccount:stowage:stowage-agent";

// The API server's word: a token "agent@n1" is that of an agent on node n1.
FakeApiServer::Answer identities() {
  return [](const kube::testing::SeenRequest& request,
            const std::shared_ptr<net::Responder>& responder) {
    constexpr std::string_view kKey = R"("token":")";
    const std::size_t at = request.body.find(kKey) + kKey.size();
    const std::string token = request.body.substr(at, request.body.find('"', at) - at);
    const std::size_t sign = token.find('@');
    const std::string user = token.substr(0, sign) == "agent" ? kAccount : token.substr(0, sign);
    const std::string extra = sign == std::string::npos
                                  ? ""
                                  : R"(,"extra":{"authentication.kubernetes.io/node-name":[")" +
                                        token.substr(sign + 1) + "\"]}";
    responder->send({.status = 201,
                     .body = R"({"status":{"authenticated":true,"audiences":["stowage.dev"],)"
                             R"("user":{"username":")" +
                             user + "\"" + extra + "}}}"});
  };
}

struct DoorTest : ::testing::Test {
  DoorTest() {
    api.script("POST", kTokens, {identities()});
    auto listening = net::HttpServer::listen(
        loop, {}, [this](const net::ServerRequest& request, auto responder) {
          door->serve(request, std::move(responder));
        });
    EXPECT_TRUE(listening);
    server = std::move(*listening);
    make({});
    http = std::make_unique<net::HttpClient>(
        loop, net::HttpClientOptions{.server = {.host = "127.0.0.1", .port = server->port()}});
  }

  void make(DoorOptions options) {
    options.accounts = {kAccount};
    options.look = 5ms;
    door = std::make_unique<Door>(
        options, Door::Ends{.gate = gate, .book = book, .loop = loop, .log = log, .place = [this] {
                              return place;
                            }});
  }

  // The agent's end.
  struct Agent {
    std::unique_ptr<net::HttpClient::Stream> stream;
    std::optional<net::HttpResponse> head;
    std::string heard;
    int ends = 0;
  };
  std::unique_ptr<Agent> come(const std::string& token, std::string protocol = kReportsProtocol) {
    auto agent = std::make_unique<Agent>();
    net::Headers headers{{"Authorization", "Bearer " + token}};
    if (!protocol.empty()) headers.emplace_back("Upgrade", std::move(protocol));
    Agent* at = agent.get();
    agent->stream =
        http->open({.target = kReportsPath, .headers = std::move(headers)}, {},
                   {.head = [at](net::HttpResponse head) { at->head = std::move(head); },
                    .data = [at](std::string_view data) { at->heard += data; },
                    .end = [at](const auto&) { ++at->ends; }});
    EXPECT_TRUE(run_until(loop, [&] { return at->head || at->ends > 0; }));
    return agent;
  }
  [[nodiscard]] bool soon(const std::function<bool()>& met) { return run_until(loop, met); }

  net::EventLoop loop;
  FakeApiServer api{loop};
  std::unique_ptr<kube::ApiClient> client = api.client();
  kube::Gatekeeper gate{*client};
  base::Log log{{.write = [this](std::string_view line) { lines += line; }}};
  std::string lines;
  Book book;
  Place place;
  std::unique_ptr<Door> door;
  std::unique_ptr<net::HttpServer> server;
  std::unique_ptr<net::HttpClient> http;
};

TEST_F(DoorTest, LinesGoIntoTheBook) {
  const auto agent = come("agent@n1");
  ASSERT_EQ(agent->head->status, 101);
  agent->stream->write("{\"version\":1,\"node\":\"n1\",\"agent\":\"0.1\"}\n{\"cards\":[{\"id\":");
  ASSERT_TRUE(soon([&] { return book.page("n1") != nullptr; }));
  EXPECT_EQ(book.page("n1")->agent, "0.1");
  agent->stream->write("\"GPU-a\",\"index\":0}]}\n\n");
  ASSERT_TRUE(soon([&] { return book.page("n1")->cards.size() == 1; }));
  EXPECT_EQ(door->counters().streams, 1U);
}

TEST_F(DoorTest, WhoIsNotAnAgentOfANodeIsRefused) {
  const struct {
    const char* token;
    int status;
    const char* words;
  } cases[] = {
      {"somebody@n1", 403, "somebody is not an account of our agents"},
      {"agent", 403, "does not say which node"},
      {"agent@", 403, "does not say which node"},
      {"", 401, "bearer token"},
  };
  for (const auto& [token, status, words] : cases) {
    const auto agent = come(token);
    ASSERT_TRUE(agent->head) << token;
    EXPECT_EQ(agent->head->status, status) << token;
    EXPECT_NE(agent->head->body.find(words), std::string::npos) << agent->head->body;
  }
  EXPECT_EQ(come("agent@n1", "")->head->status, 426);
  EXPECT_EQ(book.counters().nodes, 0U);
  EXPECT_EQ(door->counters().refused, 4U);
}

TEST_F(DoorTest, NobodySpeaksForAnotherNode) {
  const auto agent = come("agent@n1");
  agent->stream->write("{\"version\":1,\"node\":\"n2\"}\n");
  ASSERT_TRUE(soon([&] { return agent->ends == 1; }));
  EXPECT_EQ(book.page("n2"), nullptr);
  EXPECT_NE(lines.find("speaks for node n2"), std::string::npos) << lines;
}

TEST_F(DoorTest, WhatCannotBeReadEndsTheStream) {
  make({.line_bytes_max = 100});
  for (const std::string& line :
       {std::string("nonsense\n"), std::string("{\"load\":[{}]}\n"), std::string(200, 'x')}) {
    const auto agent = come("agent@n1");
    ASSERT_EQ(agent->head->status, 101);
    agent->stream->write(line);
    ASSERT_TRUE(soon([&] { return agent->ends == 1; })) << line;
  }
  EXPECT_EQ(door->counters().unread, 3U);
  EXPECT_EQ(door->counters().streams, 0U);
}

TEST_F(DoorTest, TheOneThatCameLastIsHeard) {
  const auto first = come("agent@n1");
  const auto second = come("agent@n1");
  ASSERT_TRUE(soon([&] { return first->ends == 1; }));
  second->stream->write("{\"agent\":\"2\"}\n");
  ASSERT_TRUE(soon([&] { return book.page("n1") != nullptr; }));
  EXPECT_EQ(door->counters().streams, 1U);
  EXPECT_EQ(second->ends, 0);
}

TEST_F(DoorTest, WhoSaysNothingIsSentAwayAndOthersHearFromUs) {
  make({.patience = 60ms, .beat = 10ms});
  const auto quiet = come("agent@n1");
  const auto busy = come("agent@n2");
  for (int i = 0; i < 20; ++i) {
    busy->stream->write("{}\n");
    run_for(loop, 10ms);
  }
  EXPECT_EQ(quiet->ends, 1);
  EXPECT_EQ(busy->ends, 0);
  EXPECT_GE(busy->heard.size(), 3U);
  EXPECT_EQ(busy->heard.find_first_not_of('\n'), std::string::npos);
  EXPECT_EQ(door->counters().expired, 1U);
}

TEST_F(DoorTest, AReplicaThatDoesNotLeadSendsAgentsOn) {
  const auto before = come("agent@n1");
  place = {.here = false, .url = "https://10.0.0.7:10362"};
  door->send_away();
  ASSERT_TRUE(soon([&] { return before->ends == 1; }));
  const auto agent = come("agent@n1");
  EXPECT_EQ(agent->head->status, 307);
  EXPECT_EQ(net::find_header(agent->head->headers, "location"),
            "https://10.0.0.7:10362/agent/v1/reports");
  place.url.clear();
  EXPECT_EQ(come("agent@n1")->head->status, 503) << "nobody knows who leads";
}

TEST_F(DoorTest, TheAgentOfANodeThatWasForgottenComesAgain) {
  const auto first = come("agent@n1");
  const auto second = come("agent@n2");
  ASSERT_EQ(door->counters().streams, 2U);
  door->send_away("n1");
  door->send_away("nobody");
  ASSERT_TRUE(soon([&] { return first->ends == 1; }));
  EXPECT_EQ(door->counters().streams, 1U);
  EXPECT_EQ(second->ends, 0);
}

TEST_F(DoorTest, HasRoomForSoMany) {
  make({.streams_max = 1});
  const auto first = come("agent@n1");
  EXPECT_EQ(come("agent@n2")->head->status, 503);
  const auto again = come("agent@n1");
  EXPECT_EQ(again->head->status, 101) << "takes its own place";
}

TEST_F(DoorTest, GoesWhileAgentsTalkAndAsk) {
  const auto agent = come("agent@n1");
  api.script("POST", kTokens, {api.hold()});
  auto asking =
      http->open({.target = kReportsPath,
                  .headers = {{"Authorization", "Bearer agent@n3"}, {"Upgrade", kReportsProtocol}}},
                 {}, {});
  ASSERT_TRUE(soon([&] { return !api.held().empty(); }));
  agent->stream->write("{}\n");
  door.reset();
  make({});
  api.held().front()->send({.status = 201, .body = "{}"});
  ASSERT_TRUE(soon([&] { return agent->ends == 1; }));
}

}  // namespace
}  // namespace stowage::reports
