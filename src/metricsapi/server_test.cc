#include "metricsapi/server.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "metricsapi/testing/server_fixture.h"

namespace stowage::metricsapi {
namespace {

using namespace std::chrono_literals;
using kube::testing::reply;
using kube::testing::SeenRequest;
using testing::Answer;
using testing::authority;
using testing::card;
using testing::kAccess;
using testing::kBase;
using testing::kGpus;
using testing::kMaps;
using testing::kTable;
using testing::kTokens;

struct ServerTest : testing::ServerFixture {};

TEST_F(ServerTest, EverybodySeesHealthAndDiscoveryAndNothingElse) {
  const auto server = make(report_cache);
  const auto http = client_of(*server, nullptr);
  for (const std::string& path :
       {std::string("/healthz"), std::string("/livez"), std::string("/readyz"),
        std::string("/health"), std::string("/apis"), std::string("/apis/metrics.nvidia.com"),
        kBase}) {
    EXPECT_EQ(call(*http, path).status, 200) << path;
  }
  not_ready = "no leader";
  EXPECT_EQ(call(*http, "/readyz").status, 503);
  EXPECT_EQ(call(*http, "/healthz").status, 200);
  EXPECT_EQ(call(*http, "/openapi/v2").status, 404);
  EXPECT_EQ(call(*http, "/openapi/v3").status, 404);
  EXPECT_EQ(call(*http, "/agent/v1/reports").status, 426);
  EXPECT_EQ(agents, 1);
  for (const std::string& path : {kGpus, kGpus + "/n1", kGpus + "?watch=true"}) {
    const auto refused = call(*http, path);
    EXPECT_EQ(refused.status, 401) << path;
    EXPECT_NE(refused.body.find(R"("kind":"Status")"), std::string::npos);
    EXPECT_EQ(call(*http, path, alice).status, 401) << "headers alone say nothing";
  }
  EXPECT_EQ(call(*http, kBase + "/schedule/filter", alice, "POST", "{}").status, 401);
  EXPECT_TRUE(api.seen("POST", kAccess).empty()) << "nobody was asked";
  EXPECT_TRUE(questions.empty());
}

TEST_F(ServerTest, TheFrontProxySpeaksForOthers) {
  const auto server = make(report_cache);
  const auto http = client_of(*server, &proxies);
  EXPECT_EQ(call(*http, kGpus, master).status, 200);
  EXPECT_TRUE(api.seen("POST", kAccess).empty()) << "masters need no review";
  EXPECT_EQ(call(*http, kGpus, alice).status, 200);
  EXPECT_NE(last_review().find(R"("user":"alice","groups":["devs","system:authenticated"])"),
            std::string::npos)
      << last_review();
  EXPECT_NE(
      last_review().find(R"("resourceAttributes":{"verb":"list","group":"metrics.nvidia.com",)"
                         R"("version":"v1alpha1","resource":"gpuinfos"})"),
      std::string::npos)
      << last_review();
  allow(false);
  const auto refused = call(*http, kGpus + "/n1", alice);
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(last_review().find(R"("verb":"get")"), std::string::npos);
  EXPECT_NE(last_review().find(R"("name":"n1")"), std::string::npos);
  EXPECT_NE(refused.body.find("alice may not get gpuinfos.metrics.nvidia.com"), std::string::npos)
      << refused.body;
  EXPECT_EQ(call(*http, kBase + "/schedule/filter", alice, "POST", "{}").status, 403);
  EXPECT_NE(last_review().find(R"("verb":"create","group":"metrics.nvidia.com",)"
                               R"("version":"v1alpha1","resource":"schedule","name":"filter")"),
            std::string::npos)
      << last_review();
  EXPECT_TRUE(questions.empty());
  api.script("POST", kAccess, {reply(500)});
  EXPECT_EQ(call(*http, kGpus, alice).status, 503);
  const auto other = client_of(*server, &proxies, "somebody-else");
  EXPECT_EQ(call(*other, kGpus, master).status, 401) << "signed like the proxy, but another name";
}

TEST_F(ServerTest, PeopleShowTheirCertificates) {
  const auto server = make(report_cache);
  const auto http = client_of(*server, &people, "bob", {"team"});
  EXPECT_EQ(call(*http, kGpus, master).status, 200);
  EXPECT_NE(last_review().find(R"("user":"bob","groups":["team","system:authenticated"])"),
            std::string::npos)
      << "not who the headers say: " << last_review();
  const auto chief = client_of(*server, &people, "root", {"system:masters"});
  allow(false);
  EXPECT_EQ(call(*chief, kGpus).status, 200);
  EXPECT_EQ(call(*http, kGpus).status, 403);
}

TEST_F(ServerTest, TokensAreLookedUp) {
  const auto server = make(report_cache);
  const auto http = client_of(*server, nullptr);
  EXPECT_EQ(call(*http, kGpus, {{"Authorization", "Bearer good"}}).status, 200);
  EXPECT_NE(last_review().find(R"("user":"robot")"), std::string::npos);
  EXPECT_EQ(call(*http, kGpus, {{"Authorization", "Bearer bad"}}).status, 401);
  EXPECT_EQ(call(*http, kGpus, {{"Authorization", "Basic eDp5"}}).status, 401);
  api.script("POST", kTokens, {reply(500)});
  EXPECT_EQ(call(*http, kGpus, {{"Authorization", "Bearer good2"}}).status, 503);
}

TEST_F(ServerTest, ObjectsAreShownInEveryForm) {
  const auto server = make(report_cache);
  const auto http = client_of(*server, &proxies);
  const auto get = [&](const std::string& target, const std::string& accept = "*/*") {
    net::Headers headers = master;
    headers.emplace_back("Accept", accept);
    return call(*http, target, headers);
  };
  EXPECT_TRUE(get(kGpus).body.starts_with(R"({"kind":"List","apiVersion":"v1",)"));
  EXPECT_TRUE(get(kGpus + "?limit=500", kTable).body.starts_with(R"({"kind":"Table",)"));
  EXPECT_TRUE(
      get(kGpus + "?limit=500", "application/json").body.starts_with(R"({"kind":"GpuInfoList",)"));
  EXPECT_NE(get(kBase + "/podresources").body.find(R"("pod_name":"p")"), std::string::npos);
  EXPECT_NE(get(kBase + "/podresources/d.p").body.find(R"("pod_name":"p")"), std::string::npos);
  const auto missing = get(kGpus + "/n9", kTable);
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(net::find_header(missing.headers, "content-type"), "application/json");
  EXPECT_EQ(get(kGpus, "application/yaml").status, 406);
  EXPECT_EQ(call(*http, kGpus, master, "DELETE").status, 405);
  server->set_other_nodes({{"n5", {}}});
  EXPECT_NE(get(kGpus + "/n5").body.find("UnKnow"), std::string::npos);
  EXPECT_EQ(server->counters().refused.at(404), 1U);
  EXPECT_GE(server->counters().requests.at("list"), 4U);
}

TEST_F(ServerTest, QuestionsOfKubeSchedulerGoToTheExtender) {
  const auto server = make(report_cache);
  const auto http = client_of(*server, &people, "scheduler", {"system:masters"});
  const std::string body = R"({"Pod":null,"Nodes":null,"NodeNames":["n1"]})";
  const auto answer = call(*http, kBase + "/schedule/filter", {}, "POST", body);
  EXPECT_EQ(answer.status, 200);
  ASSERT_EQ(questions.size(), 1U);
  EXPECT_EQ(questions[0], (std::pair<std::string, std::string>{"filter", body}));
  EXPECT_EQ(call(*http, kBase + "/schedule/filter").status, 405);
}

TEST_F(ServerTest, LongListsOnTheirWayAreLimited) {
  std::vector<codec::ReportedCard> cards;
  for (int i = 0; i < 32; ++i) cards.push_back(card("GPU-" + std::to_string(i), i, "Tesla T4"));
  for (int i = 0; i < 1000; ++i) {
    codec::AgentReport report;
    report.cards = cards;
    ASSERT_TRUE(report_cache.update("node-" + std::to_string(i), report, loop.now()));
  }
  const auto server = make(report_cache, {}, {.list_bytes_max = 1});
  const auto first = client_of(*server, &proxies);
  const auto second = client_of(*server, &proxies);
  for (const auto* http : {&first, &second}) EXPECT_EQ(call(**http, "/healthz").status, 200);
  // More than a connection buffers: the second answer comes while the first is in flight.
  std::vector<Answer> answers;
  for (const auto* http : {&first, &second}) {
    (*http)->send({.target = kGpus, .headers = master}, 20s,
                  [&](Answer answer) { answers.push_back(std::move(answer)); });
  }
  ASSERT_TRUE(soon([&] { return answers.size() == 2; }));
  std::sort(answers.begin(), answers.end(),
            [](const Answer& a, const Answer& b) { return a->status < b->status; });
  EXPECT_EQ(answers[0]->status, 200);
  EXPECT_GT(answers[0]->body.size(), std::size_t{4'000'000});
  EXPECT_TRUE(answers[0]->body.ends_with("]}"));
  EXPECT_EQ(answers[1]->status, 429);
  EXPECT_EQ(call(*first, kGpus + "?fieldSelector=metadata.name%3Dn1", master).status, 200)
      << "the one before has been taken";
}

TEST_F(ServerTest, NewCertificatesAreForNewConnections) {
  const auto server = make(report_cache);
  const auto http = client_of(*server, &proxies);
  const auto reader = watch(*http, kGpus + "?watch=true", master);
  ASSERT_EQ(reader->head.status, 200);
  const net::KeyPair fresh_root = authority("fresh");
  write(net::make_signed({.common_name = "s", .hosts = {"127.0.0.1"}}, fresh_root).value());
  ASSERT_TRUE(soon([&] { return lines.find("certificates reloaded") != std::string::npos; }));
  const auto old = client_of(*server, &proxies);
  EXPECT_EQ(call(*old, "/healthz").status, 0) << "trusts the old authority alone";
  EXPECT_EQ(reader->ends, 0) << "a watch goes on";
  codec::AgentReport report;
  report.cards = {card("g", 0, "T4")};
  ASSERT_TRUE(report_cache.update("n2", report, loop.now()));
  EXPECT_TRUE(soon([&] { return reader->bytes.find("\"n2\"") != std::string::npos; }));
  EXPECT_EQ(call(*http, "/healthz").status, 0) << "a new connection, for it trusts the old one";
}

// The API server connects before the CAs are known, and keeps its connection.
TEST_F(ServerTest, WhoCameTooEarlyIsAskedAgain) {
  api.script("GET", kMaps, {api.hold()});
  const auto server = make(report_cache, {}, {}, Wait::no);
  const auto http = client_of(*server, &proxies);
  EXPECT_EQ(call(*http, kGpus, master).status, 401) << "was not asked for its certificate";
  EXPECT_EQ(call(*http, kBase, master).status, 200);
  ASSERT_TRUE(soon([&] { return !api.held().empty(); }));
  api.held().front()->send({.status = 200, .body = trust_list(proxies.certificate_pem)});
  ASSERT_TRUE(soon([&] { return server->trouble().empty(); }));
  ASSERT_TRUE(soon([&] { return server->counters().connections == 0; })) << "it is retired";
  EXPECT_EQ(call(*http, kGpus, master).status, 200);
}

TEST_F(ServerTest, WhoIsBelievedChangesForNewConnections) {
  const auto server = make(report_cache);
  auto http = client_of(*server, &proxies);
  EXPECT_EQ(call(*http, kGpus, master).status, 200);
  const net::KeyPair others = authority("others");
  ASSERT_FALSE(api.held().empty()) << "the watch of the ConfigMap";
  lines.clear();
  api.held().back()->write(std::make_shared<const std::string>(
      R"({"type":"MODIFIED","object":)" + trust_map(others.certificate_pem) + "}\n"));
  ASSERT_TRUE(
      soon([&] { return lines.find("client CAs of the API server") != std::string::npos; }));
  const auto fresh = client_of(*server, &others);
  EXPECT_EQ(call(*fresh, kGpus, master).status, 200);
  http = client_of(*server, &proxies);
  EXPECT_EQ(call(*http, kGpus, master).status, 0) << "not even a handshake";
}

TEST_F(ServerTest, KeepsCertificatesOfItsOwn) {
  std::string secret;
  const std::string path = "/api/v1/namespaces/stowage/secrets";
  api.script("GET", path + "/stowage-metrics-api",
             {kube::testing::not_found("secrets", "stowage-metrics-api")});
  api.script("POST", path, {[&](const SeenRequest& request, const auto& to) {
               secret = request.body;
               to->send({.status = 201, .body = "{}"});
             }});
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.keeper.api_service.clear();
  options.keeper.ca_map.clear();
  options.keeper.rules.hosts = {"stowage-metrics-api.stowage.svc", "127.0.0.1"};
  auto made = Server::listen(
      options,
      {.loop = loop, .client = *client, .auth = auth, .report_cache = report_cache, .log = log});
  ASSERT_TRUE(made) << made.error().message;
  const auto blind = std::make_unique<net::HttpClient>(
      loop,
      net::HttpClientOptions{.server = {.tls = true, .host = "127.0.0.1", .port = (*made)->port()},
                             .tls = net::make_client_tls({.insecure = true}).value()});
  EXPECT_EQ(call(*blind, "/healthz").status, 200) << "before anything is known";
  ASSERT_TRUE(soon([&] { return (*made)->trouble().empty(); }));
  secret.insert(secret.find(R"("name")"), R"("resourceVersion":"0",)");
  const KeptCertificates kept = from_secret(codec::read_secret(secret).value());
  net::HttpClient http(loop, {.server = {.tls = true, .host = "127.0.0.1", .port = (*made)->port()},
                              .tls = net::make_client_tls({.ca_pem = trusted(kept)}).value()});
  EXPECT_EQ(call(http, kBase).status, 200);
}

}  // namespace
}  // namespace stowage::metricsapi
