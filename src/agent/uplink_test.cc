#include "agent/uplink.h"

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "net/http_server.h"
#include "net/testing/loops.h"
#include "net/testing/temporary_folder.h"
#include "net/tls.h"

namespace stowage::agent {
namespace {

using namespace std::chrono_literals;
using codec::AgentReport;
using codec::ReportedPod;
using net::testing::run_for;
using net::testing::run_until;

ReportedPod pod(const std::string& name, const std::string& card = "GPU-0") {
  return {.ns = "ml",
          .name = name,
          .containers = {{.name = "main", .devices = {{"nvidia.com/gpu", {card}}}}}};
}

// A controller that accepts reports, or handles the request as the test says.
struct Controller {
  explicit Controller(net::EventLoop& loop, std::shared_ptr<net::TlsContext> tls = nullptr) {
    net::HttpServerOptions options;
    options.tls = std::move(tls);
    auto listening =
        net::HttpServer::listen(loop, options, [this](net::ServerRequest request, auto responder) {
          requests.push_back(request.http);
          if (answer) return responder->send(*answer);
          held = responder;
          responder->upgrade("stowage-agent/1", [this](std::string_view bytes) { take(bytes); });
        });
    EXPECT_TRUE(listening);
    server = std::move(*listening);
  }
  void take(std::string_view bytes) {
    text += bytes;
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      auto report = reader.read(text.substr(0, end));
      EXPECT_TRUE(report) << report.error().message;
      reports.push_back(std::move(*report));
      text.erase(0, end + 1);
    }
  }

  std::optional<net::HttpResponse> answer;
  std::vector<net::HttpRequest> requests;
  std::vector<AgentReport> reports;
  std::shared_ptr<net::Responder> held;
  std::string text;
  codec::AgentReportReader reader;
  std::unique_ptr<net::HttpServer> server;
};

struct UplinkTest : ::testing::Test {
  void make(const Controller& to, UplinkOptions options = {}) {
    if (options.controller.host.empty()) options.controller.host = "127.0.0.1";
    options.controller.port = to.server->port();
    options.report.node = "n1";
    options.report.agent = "test";
    if (options.beat == UplinkOptions{}.beat) options.beat = 10ms;
    options.backoff_min = 10ms;
    options.backoff_max = 20ms;
    uplink = std::make_unique<Uplink>(loop, options, log);
    uplink->set_alive(true);
    uplink->start();
  }
  [[nodiscard]] bool soon(const std::function<bool()>& met) { return run_until(loop, met); }

  net::EventLoop loop;
  std::string lines;
  base::Log log{{.write = [this](std::string_view line) { lines += line; }}};
  Controller controller{loop};
  std::unique_ptr<Uplink> uplink;
};

TEST_F(UplinkTest, TellsAllOnceAndThenWhatChanges) {
  make(controller);
  uplink->set_cards({{.id = "GPU-0"}});
  uplink->set_load({{.card = 0, .busy_permille = 500}});
  uplink->set_pods({pod("p1"), pod("p2")});
  ASSERT_TRUE(soon([&] { return controller.reports.size() >= 3; }));
  const AgentReport& first = controller.reports.front();
  EXPECT_EQ(first.version, 1);
  EXPECT_EQ(first.node, "n1");
  EXPECT_EQ(first.cards->size(), 1U);
  EXPECT_EQ(first.load.size(), 1U);
  EXPECT_TRUE(first.pods->all);
  EXPECT_EQ(first.pods->now.size(), 2U);
  EXPECT_EQ(controller.reports[1], AgentReport{}) << "a beat";
  controller.reports.clear();
  uplink->set_cards({{.id = "GPU-0", .healthy = false}});
  uplink->change_pods({pod("p3")}, {"ml/p1", "ml/nobody"});
  ASSERT_TRUE(soon([&] { return !controller.reports.empty() && controller.reports[0].pods; }));
  EXPECT_FALSE(controller.reports[0].cards->front().healthy);
  EXPECT_FALSE(controller.reports[0].pods->all);
  EXPECT_EQ(controller.reports[0].pods->now, std::vector<ReportedPod>{pod("p3")});
  EXPECT_EQ(controller.reports[0].pods->gone, std::vector<std::string>{"ml/p1"});
}

TEST_F(UplinkTest, PodsAndHealthDoNotWaitForTheBeat) {
  make(controller, {.beat = 1h, .soon = 5ms});
  uplink->set_cards({{.id = "GPU-0"}});
  uplink->set_pods({});
  ASSERT_TRUE(soon([&] { return !controller.reports.empty(); }));
  controller.reports.clear();
  uplink->set_load({{.card = 0, .busy_permille = 900}});
  run_for(loop, 30ms);
  EXPECT_TRUE(controller.reports.empty()) << "load waits";
  uplink->change_pods({pod("p1")}, {});
  uplink->change_pods({pod("p2")}, {});
  ASSERT_TRUE(soon([&] { return !controller.reports.empty(); }));
  EXPECT_EQ(controller.reports[0].pods->now.size(), 2U) << "together";
  EXPECT_EQ(controller.reports[0].load.size(), 1U) << "load comes along";
  uplink->set_cards({{.id = "GPU-0", .healthy = false}});
  EXPECT_TRUE(soon([&] { return controller.reports.back().cards.has_value(); }));
}

TEST_F(UplinkTest, SmallChangesOfLoadWait) {
  make(controller, {.report = {.load_beats_most = 1000}});
  uplink->set_load({{.card = 0, .busy_permille = 500}, {.card = 1, .busy_permille = 0}});
  ASSERT_TRUE(soon([&] { return controller.reports.size() >= 2; }));
  controller.reports.clear();
  uplink->set_load({{.card = 0, .busy_permille = 505}, {.card = 1, .busy_permille = 9}});
  ASSERT_TRUE(soon([&] { return controller.reports.size() >= 3; }));
  for (const AgentReport& report : controller.reports) EXPECT_TRUE(report.load.empty());
  uplink->set_load({{.card = 0, .busy_permille = 511}, {.card = 1, .busy_permille = 9}});
  ASSERT_TRUE(soon([&] { return !controller.reports.back().load.empty(); }));
  ASSERT_EQ(controller.reports.back().load.size(), 1U);
  EXPECT_EQ(controller.reports.back().load[0].busy_permille, 511);
}

TEST_F(UplinkTest, AllIsToldAgainAfterTheStreamBroke) {
  make(controller);
  uplink->set_pods({pod("p1")});
  ASSERT_TRUE(soon([&] { return !controller.reports.empty(); }));
  controller.reports.clear();
  controller.held->abort();
  uplink->change_pods({pod("p2")}, {});
  ASSERT_TRUE(soon([&] { return !controller.reports.empty(); }));
  EXPECT_EQ(controller.reports[0].version, 1);
  EXPECT_TRUE(controller.reports[0].pods->all);
  EXPECT_EQ(controller.reports[0].pods->now.size(), 2U);
  EXPECT_EQ(uplink->snapshot().opened, 2U);
}

TEST_F(UplinkTest, GoesWhereItIsSent) {
  Controller leader(loop);
  controller.answer = net::HttpResponse{
      .status = 307,
      .headers = {{"Location", "http://127.0.0.1:" + std::to_string(leader.server->port()) +
                                   "/agent/v1/reports"}}};
  make(controller);
  ASSERT_TRUE(soon([&] { return !leader.reports.empty(); }));
  EXPECT_EQ(leader.requests.size(), 1U);
  EXPECT_TRUE(uplink->snapshot().open);
  leader.held->abort();
  controller.answer.reset();
  ASSERT_TRUE(soon([&] { return !controller.reports.empty(); })) << "asks the first one again";
}

TEST_F(UplinkTest, RetriesIfTheRedirectTargetIsGone) {
  auto leader = std::make_unique<Controller>(loop);
  controller.answer = net::HttpResponse{
      .status = 307,
      .headers = {{"Location", "http://127.0.0.1:" + std::to_string(leader->server->port())}}};
  leader.reset();
  make(controller);
  ASSERT_TRUE(soon([&] { return uplink->snapshot().failed > 1; }));
  controller.answer.reset();
  ASSERT_TRUE(soon([&] { return !controller.reports.empty(); }));
}

TEST_F(UplinkTest, CirclesEnd) {
  controller.answer = net::HttpResponse{
      .status = 307,
      .headers = {{"Location", "http://127.0.0.1:" + std::to_string(controller.server->port())}}};
  make(controller, {.backoff_min = 10s});
  ASSERT_TRUE(soon([&] { return uplink->snapshot().failed > 0; }));
  EXPECT_NE(uplink->snapshot().trouble.find("307"), std::string::npos);
}

TEST_F(UplinkTest, SaysWhyItCannotReport) {
  controller.answer = net::HttpResponse{.status = 403, .body = "somebody is not an account\n"};
  make(controller);
  ASSERT_TRUE(soon([&] { return uplink->snapshot().failed > 2; }));
  EXPECT_EQ(uplink->snapshot().trouble, "the controller answers 403: somebody is not an account");
  EXPECT_NE(lines.find("cannot report"), std::string::npos);
  EXPECT_EQ(lines.find("cannot report"), lines.rfind("cannot report")) << "once: " << lines;
}

TEST_F(UplinkTest, SaysNothingWhileItIsNotAlive) {
  make(controller);
  uplink->set_alive(false);
  ASSERT_TRUE(soon([&] { return controller.held != nullptr; }));
  run_for(loop, 60ms);
  EXPECT_TRUE(controller.reports.empty());
  uplink->set_alive(true);
  ASSERT_TRUE(soon([&] { return !controller.reports.empty(); }));
  EXPECT_EQ(controller.reports[0].node, "n1") << "begins as it has to";
}

TEST_F(UplinkTest, AControllerThatSaysNothingIsLeft) {
  make(controller, {.silence = 50ms});
  ASSERT_TRUE(soon([&] { return uplink->snapshot().opened >= 2; }));
}

struct Secure {
  Secure(net::EventLoop& loop, const net::testing::TemporaryFolder& folder, std::string host)
      : pair(*net::make_self_signed({.common_name = "c", .hosts = {std::move(host)}})),
        controller(loop, *net::make_server_tls(
                             {.certificate_pem = pair.certificate_pem, .key_pem = pair.key_pem})),
        ca(folder.path("ca.crt")),
        token(folder.path("token")) {
    std::ofstream(ca) << pair.certificate_pem;
    std::ofstream(token) << "secret";
  }
  // https only, with a token.
  [[nodiscard]] UplinkOptions options() const {
    UplinkOptions options{.token_file = token, .ca_file = ca, .server_name = "stowage.stowage.svc"};
    options.controller = {.tls = true, .host = "127.0.0.1"};
    return options;
  }
  void send_on_to(const std::string& url) {
    controller.answer = net::HttpResponse{.status = 307, .headers = {{"Location", url}}};
  }
  net::KeyPair pair;
  Controller controller;
  std::string ca;
  std::string token;
};

std::string local_url(const Controller& to, bool tls) {
  return (tls ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(to.server->port());
}

TEST_F(UplinkTest, ATokenNeverLeavesTlsBecauseOfARedirect) {
  const net::testing::TemporaryFolder folder;
  Secure secure(loop, folder, "stowage.stowage.svc");
  secure.send_on_to(local_url(controller, false));  // even to loopback
  make(secure.controller, secure.options());
  ASSERT_TRUE(soon([&] { return uplink->snapshot().failed > 1; }));
  EXPECT_NE(uplink->snapshot().trouble.find("not encrypted"), std::string::npos)
      << uplink->snapshot().trouble;
  EXPECT_TRUE(controller.requests.empty()) << "nothing came, and no token";
}

TEST_F(UplinkTest, ARedirectGoesToAServerThatTheAuthorityKnows) {
  const net::testing::TemporaryFolder folder;
  const net::testing::TemporaryFolder other;
  Secure secure(loop, folder, "stowage.stowage.svc");
  Secure stranger(loop, other, "stowage.stowage.svc");  // the right name, but self-signed
  secure.send_on_to(local_url(stranger.controller, true));
  make(secure.controller, secure.options());
  ASSERT_TRUE(soon([&] { return uplink->snapshot().failed > 1; }));
  EXPECT_TRUE(stranger.controller.requests.empty()) << "no token to a stranger";
}

TEST_F(UplinkTest, WithoutTlsNothingLeavesTheMachine) {
  struct Row {
    const char* url;
    bool allowed;
  };
  const Row rows[] = {{"https://stowage-agents.stowage.svc:10362", true},
                      {"https://10.0.0.7:10362", true},
                      {"http://127.0.0.1:10362", true},
                      {"http://[::1]:10362", true},
                      {"http://10.0.0.7:10362", false},
                      {"http://127.0.0.1.example:10362", false},
                      {"http://127.example:10362", false},
                      {"http://localhost.example:10362", false},
                      {"http://stowage-agents.stowage.svc:10362", false},
                      {"http://0.0.0.0:10362", false}};
  for (const Row& row : rows) {
    const auto url = net::parse_url(row.url);
    ASSERT_TRUE(url) << row.url;
    EXPECT_EQ(may_report_to(*url).has_value(), row.allowed) << row.url;
  }
  // Redirected by a server on loopback without TLS.
  controller.answer =
      net::HttpResponse{.status = 307, .headers = {{"Location", "http://192.0.2.1:10362"}}};
  make(controller);
  ASSERT_TRUE(soon([&] { return uplink->snapshot().failed > 0; }));
  EXPECT_NE(uplink->snapshot().trouble.find("plain HTTP is only for loopback"), std::string::npos)
      << uplink->snapshot().trouble;
}

TEST_F(UplinkTest, ReadsItsFilesForEveryStream) {
  const net::testing::TemporaryFolder folder;
  const std::string token = folder.path("token");
  const std::string ca = folder.path("ca.crt");
  const auto pair = net::make_self_signed({.common_name = "c", .hosts = {"stowage.stowage.svc"}});
  ASSERT_TRUE(pair);
  const auto write = [](const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  };
  write(ca, pair->certificate_pem);
  auto context =
      net::make_server_tls({.certificate_pem = pair->certificate_pem, .key_pem = pair->key_pem});
  ASSERT_TRUE(context);
  Controller secure(loop, *context);
  UplinkOptions options{.token_file = token, .ca_file = ca, .server_name = "stowage.stowage.svc"};
  options.controller = {.tls = true, .host = "127.0.0.1"};
  make(secure, options);
  ASSERT_TRUE(soon([&] { return uplink->snapshot().failed > 0; }));
  EXPECT_NE(uplink->snapshot().trouble.find(token), std::string::npos);
  write(token, "first\n");
  ASSERT_TRUE(soon([&] { return !secure.reports.empty(); }));
  EXPECT_EQ(net::find_header(secure.requests.back().headers, "authorization"), "Bearer first");
  write(token, "second");
  secure.held->abort();
  ASSERT_TRUE(soon([&] {
    return net::find_header(secure.requests.back().headers, "authorization") == "Bearer second";
  }));
}

}  // namespace
}  // namespace stowage::agent
