// A server of the API between a scripted API server and clients with all kinds of certificates.
// Everything shares the loop of the test.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "codec/config_map.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/temp_folder.h"
#include "metricsapi/server.h"
#include "metricsapi/testing/node_reports.h"
#include "net/http_client.h"
#include "reports/agent_server.h"

namespace stowage::metricsapi::testing {

using namespace std::chrono_literals;
using kube::testing::FakeApiServer;
using kube::testing::reply;
using kube::testing::run_until;
using kube::testing::SeenRequest;
using kube::testing::StreamEnd;
using Answer = tl::expected<net::HttpResponse, net::CallError>;

inline constexpr const char* kTokens = "/apis/authentication.k8s.io/v1/tokenreviews";
inline constexpr const char* kAccess = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
inline constexpr const char* kMaps = "/api/v1/namespaces/kube-system/configmaps";
inline constexpr const char* kTable =
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s."
    "io,application/json";
inline const std::string kBase = "/apis/metrics.nvidia.com/v1alpha1";
inline const std::string kGpus = kBase + "/gpuinfos";

inline net::KeyPair authority(const char* name) {
  return net::make_authority({.common_name = name}).value();
}

struct ServerFixture : ::testing::Test {
  ServerFixture() {
    api.script(
        "POST", kTokens, {[](const SeenRequest& request, const auto& to) {
          const bool known = request.body.find(R"("token":"good)") != std::string::npos;
          to->send({.status = 201,
                    .body = known ? R"({"status":{"authenticated":true,"user":{)"
                                    R"("username":"robot","groups":["system:authenticated"]}}})"
                                  : R"({"status":{}})"});
        }});
    allow(true);
    trust(proxies.certificate_pem);
    write(serving);
    desk_cards();
  }

  void allow(bool allowed) {
    api.script("POST", kAccess,
               {reply(201, allowed ? R"({"status":{"allowed":true}})"
                                   : R"({"status":{"allowed":false}})")});
  }
  [[nodiscard]] std::string trust_map(const std::string& proxy_ca) const {
    return codec::config_map(
        {.ns = "kube-system",
         .name = "extension-apiserver-authentication",
         .uid = {},
         .data = {{"client-ca-file", people.certificate_pem},
                  {"requestheader-client-ca-file", proxy_ca},
                  {"requestheader-allowed-names", R"(["front-proxy-client"])"},
                  {"requestheader-username-headers", R"(["X-Remote-User"])"},
                  {"requestheader-group-headers", R"(["X-Remote-Group"])"},
                  {"requestheader-extra-headers-prefix", R"(["X-Remote-Extra-"])"}}});
  }
  [[nodiscard]] std::string trust_list(const std::string& proxy_ca) const {
    return R"({"metadata":{"resourceVersion":"5"},"items":[)" + trust_map(proxy_ca) + "]}";
  }
  void trust(const std::string& proxy_ca) {
    api.script("GET", kMaps,
               {[this, list = trust_list(proxy_ca)](const SeenRequest& request, const auto& to) {
                 if (request.query("watch") != "1") return reply(200, list)(request, to);
                 api.stream({}, StreamEnd::open)(request, to);
               }});
  }
  void write(const net::KeyPair& pair) {
    folder.write("tls.crt", pair.certificate_pem);
    folder.write("tls.key", pair.key_pem);
    folder.write("ca.crt", root.certificate_pem);
  }
  void desk_cards() {
    const net::Moment now = loop.now();
    codec::AgentReport report;
    report.cards = {card("GPU-a", 0, "Tesla T4"), card("GPU-b", 1, "Tesla T4")};
    report.pods = codec::ReportedPods{.all = true, .now = {pod("d", "p", {"GPU-a"})}, .gone = {}};
    EXPECT_TRUE(report_cache.update("n1", report, now));
  }

  enum class Wait : std::uint8_t { no, for_trust };
  // A server with certificates from files, and with known CAs.
  std::unique_ptr<Server> make(reports::ReportCache& from,
                               std::function<reports::LeaderLocation()> place = {},
                               ServerOptions options = {}, Wait wait = Wait::for_trust) {
    options.listen = "127.0.0.1:0";
    options.files = CertificatePaths{.certificate = folder.path("tls.crt"),
                                     .key = folder.path("tls.key"),
                                     .ca = folder.path("ca.crt"),
                                     .look = 10ms};
    options.look = 5ms;
    options.watch.look = 5ms;
    auto made = Server::listen(
        options, {.loop = loop,
                  .client = *client,
                  .auth = auth,
                  .report_cache = from,
                  .log = log,
                  .agents =
                      [this](const net::ServerRequest&, const std::shared_ptr<net::Responder>& to) {
                        ++agents;
                        to->send({.status = 426});
                      },
                  .schedule = {[this](ScheduleVerb verb, std::string body, auto answer) {
                    questions.emplace_back(word(verb), std::move(body));
                    answer(json_answer("{}"));
                  }},
                  .place = std::move(place),
                  .authorization = [] { return "Bearer good-replica"; },
                  .not_ready = [this] { return not_ready; }});
    EXPECT_TRUE(made) << made.error().message;
    EXPECT_TRUE(wait == Wait::no || soon([&] { return (*made)->trouble().empty(); }));
    return std::move(*made);
  }

  // A client with a certificate of that CA; none if it is null.
  std::unique_ptr<net::HttpClient> client_of(const Server& to, const net::KeyPair* signer,
                                             std::string name = "front-proxy-client",
                                             std::vector<std::string> groups = {}) {
    net::ClientTls tls{.ca_pem = root.certificate_pem};
    if (signer != nullptr) {
      const auto own = net::make_signed(
          {.common_name = std::move(name), .organisations = std::move(groups)}, *signer);
      tls.certificate_pem = own.value().certificate_pem;
      tls.key_pem = own.value().key_pem;
    }
    return std::make_unique<net::HttpClient>(
        loop,
        net::HttpClientOptions{.server = {.tls = true, .host = "127.0.0.1", .port = to.port()},
                               .tls = net::make_client_tls(tls).value()});
  }
  net::HttpResponse call(net::HttpClient& http, const std::string& target,
                         net::Headers headers = {}, std::string method = "GET",
                         std::string body = {}) {
    std::optional<Answer> got;
    http.send({.method = std::move(method),
               .target = target,
               .headers = std::move(headers),
               .body = std::move(body)},
              20s, [&](Answer answer) { got = std::move(answer); });
    EXPECT_TRUE(soon([&] { return got.has_value(); }));
    if (got && *got) return **got;
    return {.status = 0, .body = got ? got->error().message : "no answer"};
  }
  struct Reader {
    std::unique_ptr<net::HttpClient::Stream> stream;
    net::HttpResponse head{.status = 0};
    std::string bytes;
    int ends = 0;
  };
  std::unique_ptr<Reader> watch(net::HttpClient& http, const std::string& target,
                                net::Headers headers) {
    auto reader = std::make_unique<Reader>();
    Reader* at = reader.get();
    reader->stream =
        http.open({.target = target, .headers = std::move(headers)}, {},
                  {.head = [at](net::HttpResponse head) { at->head = std::move(head); },
                   .data = [at](std::string_view data) { at->bytes += data; },
                   .end = [at](const auto&) { ++at->ends; }});
    EXPECT_TRUE(soon([&] { return at->head.status != 0 || at->ends > 0; }));
    return reader;
  }
  [[nodiscard]] bool soon(const std::function<bool()>& met) { return run_until(loop, met); }
  [[nodiscard]] std::string last_review() const {
    const auto seen = api.seen("POST", kAccess);
    return seen.empty() ? "" : seen.back().body;
  }

  const net::KeyPair root = authority("root");
  const net::KeyPair people = authority("people");
  const net::KeyPair proxies = authority("proxies");
  const net::KeyPair serving =
      net::make_signed(
          {.common_name = "s", .hosts = {"127.0.0.1", "stowage-metrics-api.stowage.svc"}}, root)
          .value();
  const net::Headers master = {{"X-Remote-User", "system:kube-aggregator"},
                               {"X-Remote-Group", "system:masters"}};
  const net::Headers alice = {{"X-Remote-User", "alice"}, {"X-Remote-Group", "devs"}};

  kube::testing::TempFolder folder;
  net::EventLoop loop;
  FakeApiServer api{loop};
  std::unique_ptr<kube::ApiClient> client = api.client();
  kube::DelegatedAuth auth{*client, {.kept = 1ns}};
  std::string lines;
  base::Log log{
      {.level = base::LogLevel::debug, .write = [this](std::string_view line) { lines += line; }}};
  reports::ReportCache report_cache;
  int agents = 0;
  std::vector<std::pair<std::string, std::string>> questions;
  std::string not_ready;
};

}  // namespace stowage::metricsapi::testing
