#include "metricsapi/relay.h"

#include <gtest/gtest.h>

#include "metricsapi/testing/server_fixture.h"

namespace stowage::metricsapi {
namespace {

using namespace std::chrono_literals;
using kube::testing::run_for;
using testing::Answer;
using testing::card;
using testing::kAccess;
using testing::kBase;
using testing::kGpus;
using testing::kTable;

// Two replicas: agents report to the first.
struct RelayTest : testing::ServerFixture {
  void start() {
    server_a = make(report_cache, [this] { return leader_a; });
    server_b = make(empty, [this] { return leader_b; });
    leader_b = {.here = false, .url = url(*server_a)};
    http_b = client_of(*server_b, &proxies);
  }
  static std::string url(const Server& server) {
    return "https://127.0.0.1:" + std::to_string(server.port());
  }

  reports::ReportCache empty;
  reports::LeaderLocation leader_a;
  reports::LeaderLocation leader_b;
  std::unique_ptr<Server> server_a;
  std::unique_ptr<Server> server_b;
  std::unique_ptr<net::HttpClient> http_b;
};

TEST_F(RelayTest, AReplicaPassesRequestsOnToTheLeader) {
  start();
  EXPECT_EQ(call(*http_b, kBase).status, 200) << "discovery it answers itself";
  const auto list = call(*http_b, kGpus, alice);
  EXPECT_EQ(list.status, 200);
  EXPECT_NE(list.body.find(R"("device_node":"n1")"), std::string::npos) << list.body;
  EXPECT_NE(last_review().find(R"("user":"robot")"), std::string::npos)
      << "the leader asks what the replica may do";
  EXPECT_NE(lines.find("user=alice"), std::string::npos) << lines;
  net::Headers headers = alice;
  headers.emplace_back("Accept", kTable);
  EXPECT_TRUE(call(*http_b, kGpus + "?limit=500", headers).body.starts_with(R"({"kind":"Table")"));
  EXPECT_EQ(call(*http_b, kGpus + "/n9", alice).status, 404);
  EXPECT_EQ(call(*http_b, kBase + "/schedule/filter", alice, "POST", "{}").status, 200);
  EXPECT_EQ(questions.size(), 1U);
  EXPECT_EQ(server_b->counters().relay.passed, 4U);
}

TEST_F(RelayTest, AWatchGoesThrough) {
  start();
  const auto reader = watch(*http_b, kGpus + "?watch=true", alice);
  ASSERT_EQ(reader->head.status, 200);
  ASSERT_TRUE(soon([&] { return reader->bytes.find("\"n1\"") != std::string::npos; }));
  codec::AgentReport report;
  report.cards = {card("g", 0, "T4")};
  ASSERT_TRUE(report_cache.update("n2", report, loop.now()));
  ASSERT_TRUE(soon([&] { return reader->bytes.find("\"n2\"") != std::string::npos; }));
  EXPECT_EQ(server_a->counters().watchers.open, 1U);
  reader->stream.reset();
  ASSERT_TRUE(soon([&] { return server_a->counters().watchers.open == 0; })) << "it has gone";
  const auto other = watch(*http_b, kGpus + "?watch=true", alice);
  leader_a = {.here = false, .url = {}};
  ASSERT_TRUE(soon([&] { return other->ends == 1; })) << "it is to ask again";
}

TEST_F(RelayTest, WithoutALeaderItSaysSo) {
  start();
  struct Row {
    const char* name;
    reports::LeaderLocation leader;
    const char* words;
  };
  const Row rows[] = {
      {"none known", {.here = false, .url = {}}, "no replica leads"},
      {"a bad address", {.here = false, .url = "junk"}, "invalid address"},
      {"an open line", {.here = false, .url = "http://127.0.0.1:1"}, "https"},
      {"nobody there", {.here = false, .url = "https://127.0.0.1:1"}, "cannot"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    leader_b = row.leader;
    const auto answer = call(*http_b, kGpus, alice);
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(net::find_header(answer.headers, "retry-after"), "1");
    EXPECT_NE(answer.body.find(row.words), std::string::npos) << answer.body;
    EXPECT_EQ(watch(*http_b, kGpus + "?watch=true", alice)->head.status, 503);
  }
  leader_b = {.here = false, .url = url(*server_b)};
  EXPECT_EQ(call(*http_b, kGpus, alice).status, 503) << "round and round";
  EXPECT_EQ(call(*http_b, "/healthz").status, 200);
}

TEST_F(RelayTest, WhoMayNotIsRefusedBeforeTheLeaderHearsOfIt) {
  start();
  allow(false);
  EXPECT_EQ(call(*http_b, kGpus, alice).status, 403);
  EXPECT_EQ(server_b->counters().relay.passed, 0U);
}

TEST_F(RelayTest, WatchesEndWhenAnotherLeads) {
  start();
  const auto http = client_of(*server_a, &proxies);
  const auto reader = watch(*http, kGpus + "?watch=true", alice);
  leader_a = {.here = false, .url = {}};
  ASSERT_TRUE(soon([&] { return reader->ends == 1; }));
}

// A client that reads nothing.
class Deaf final : public net::Responder {
 public:
  explicit Deaf(bool& aborted) : aborted_(aborted) {}
  void send(net::HttpResponse) override {}
  void begin(net::HttpResponse) override {}
  void upgrade(std::string, std::function<void(std::string_view)>) override {}
  void write(std::shared_ptr<const std::string> chunk) override { bytes_ += chunk->size(); }
  void end() override {}
  [[nodiscard]] std::size_t backlog() const override { return bytes_; }
  void abort() override { aborted_ = true; }
  void on_closed(std::function<void()>) override {}

 private:
  bool& aborted_;
  std::size_t bytes_ = 0;
};

TEST_F(RelayTest, AReaderThatIsTooSlowIsCutOff) {
  start();
  Relay relay({.backlog_max = 1000}, loop, log);
  relay.set_tls(net::make_client_tls({.ca_pem = root.certificate_pem}).value());
  bool aborted = false;
  net::ServerRequest request{.http = {.target = kGpus + "?watch=true"}};
  const Ask ask = read_ask(request.http).value();
  relay.pass_on({.ask = ask,
                 .request = std::move(request),
                 .responder = std::make_shared<Deaf>(aborted),
                 .user = "alice",
                 .authorization = "Bearer good"},
                leader_b);
  for (int i = 0; !aborted && i < 200; ++i) {
    codec::AgentReport report;
    report.cards = {card("g" + std::to_string(i), 0, "T4")};
    ASSERT_TRUE(report_cache.update("n2", report, loop.now()));
    run_for(loop, 5ms);
  }
  EXPECT_TRUE(aborted);
  EXPECT_EQ(relay.counters().cut_off, 1U);
  EXPECT_EQ(relay.counters().streams, 0U);
  ASSERT_TRUE(soon([&] { return server_a->counters().watchers.open == 0; }));
}

TEST_F(RelayTest, ShutdownEndsWatchesInOrder) {
  start();
  const auto here = client_of(*server_a, &proxies);
  const auto first = watch(*here, kGpus + "?watch=true", alice);
  const auto second = watch(*http_b, kGpus + "?watch=true", alice);
  bool done_a = false;
  bool done_b = false;
  server_b->shutdown(5s, [&] { done_b = true; });
  ASSERT_TRUE(soon([&] { return done_b && second->ends == 1; }));
  server_a->shutdown(5s, [&] { done_a = true; });
  ASSERT_TRUE(soon([&] { return done_a && first->ends == 1; }));
}

TEST_F(RelayTest, GoesWhileItIsAsked) {
  start();
  api.script("POST", kAccess, {api.hold()});
  const std::size_t held = api.held().size();
  http_b->send({.target = kGpus, .headers = alice}, 20s, [](const Answer&) {});
  ASSERT_TRUE(soon([&] { return api.held().size() > held; }));
  server_b.reset();
  api.held().back()->send({.status = 201, .body = R"({"status":{"allowed":true}})"});
  run_for(loop, 20ms);
}

}  // namespace
}  // namespace stowage::metricsapi
