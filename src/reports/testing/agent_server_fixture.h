// An agent server on loopback, with agents as clients and an API server as its backend.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"
#include "net/http_client.h"
#include "reports/agent_server.h"

namespace stowage::reports::testing {

using kube::testing::FakeApiServer;

inline constexpr const char* kTokens = "/apis/authentication.k8s.io/v1/tokenreviews";
inline constexpr const char* kAccount = "system:serviceaccount:stowage:stowage-agent";

// Answers of the API server: a token "agent@n1" belongs to an agent on node n1.
inline FakeApiServer::Answer identities() {
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

struct AgentServerFixture : ::testing::Test {
  AgentServerFixture() {
    api.script("POST", kTokens, {identities()});
    auto listening = net::HttpServer::listen(
        loop, {}, [this](const net::ServerRequest& request, auto responder) {
          agent_server->serve(request, std::move(responder));
        });
    EXPECT_TRUE(listening);
    server = std::move(*listening);
    make({});
    http = std::make_unique<net::HttpClient>(
        loop, net::HttpClientOptions{.server = {.host = "127.0.0.1", .port = server->port()}});
  }

  void make(AgentServerOptions options) {
    options.accounts = {kAccount};
    options.look = std::chrono::milliseconds{5};
    agent_server = std::make_unique<AgentServer>(
        options,
        AgentServer::Deps{
            .auth = auth, .report_cache = report_cache, .loop = loop, .log = log, .place = [this] {
              return place;
            }});
  }

  // The agent's side of a connection.
  struct Agent {
    std::unique_ptr<net::HttpClient::Stream> stream;
    std::optional<net::HttpResponse> head;
    std::string heard;
    int ends = 0;
  };
  std::unique_ptr<Agent> allow_connect(const std::string& token,
                                       std::string protocol = codec::kReportsProtocol) {
    auto agent = std::make_unique<Agent>();
    net::Headers headers{{"Authorization", "Bearer " + token}};
    if (!protocol.empty()) headers.emplace_back("Upgrade", std::move(protocol));
    Agent* at = agent.get();
    agent->stream =
        http->open({.target = codec::kReportsPath, .headers = std::move(headers)}, {},
                   {.head = [at](net::HttpResponse head) { at->head = std::move(head); },
                    .data = [at](std::string_view data) { at->heard += data; },
                    .end = [at](const auto&) { ++at->ends; }});
    EXPECT_TRUE(kube::testing::run_until(loop, [&] { return at->head || at->ends > 0; }));
    return agent;
  }
  [[nodiscard]] bool soon(const std::function<bool()>& met) {
    return kube::testing::run_until(loop, met);
  }

  net::EventLoop loop;
  FakeApiServer api{loop};
  std::unique_ptr<kube::ApiClient> client = api.client();
  kube::DelegatedAuth auth{*client};
  base::Log log{{.write = [this](std::string_view line) { lines += line; }}};
  std::string lines;
  ReportCache report_cache;
  LeaderLocation place;
  std::unique_ptr<AgentServer> agent_server;
  std::unique_ptr<net::HttpServer> server;
  std::unique_ptr<net::HttpClient> http;
};

}  // namespace stowage::reports::testing
