#include "kube/api_client.h"

#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"
#include "kube/testing/temp_folder.h"

namespace stowage::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::FakeApiServer;
using testing::refuse;
using testing::reply;
using testing::run_until;
using testing::SeenRequest;

using Outcome = tl::expected<ApiReply, CallError>;

class ApiClientTest : public ::testing::Test {
 protected:
  void get(ApiClient& client, const std::string& target, Lane lane = Lane::normal,
           net::Duration deadline = seconds{20}) {
    client.call({.target = target, .lane = lane}, deadline,
                [this](Outcome outcome) { outcomes_.push_back(std::move(outcome)); });
  }
  [[nodiscard]] bool wait_for(std::size_t count) {
    return run_until(loop_, [&] { return outcomes_.size() >= count; });
  }

  net::EventLoop loop_;
  FakeApiServer server_{loop_};
  std::vector<Outcome> outcomes_;
};

TEST_F(ApiClientTest, SaysWhoItIsAndWhatItWants) {
  server_.script("POST", "/a", {reply(201, R"({"x":1})")});
  ClientConfig config = server_.config();
  config.credentials = BearerToken{"secret"};
  config.impersonate = Impersonation{.user = "boss", .groups = {"g"}};
  auto client = ApiClient::create(loop_, config);
  ASSERT_TRUE(client.has_value());
  (*client)->call({.method = "POST", .target = "/a?b=c", .body = "{}", .lane = Lane::bind},
                  seconds{20}, [&](Outcome outcome) { outcomes_.push_back(std::move(outcome)); });
  EXPECT_TRUE(outcomes_.empty());
  ASSERT_TRUE(wait_for(1));
  ASSERT_TRUE(outcomes_[0].has_value()) << outcomes_[0].error().message;
  EXPECT_EQ(outcomes_[0]->status, 201);
  EXPECT_EQ(outcomes_[0]->body, R"({"x":1})");
  const SeenRequest& seen = server_.seen().at(0);
  EXPECT_EQ(seen.target, "/a?b=c");
  EXPECT_EQ(seen.body, "{}");
  EXPECT_EQ(seen.header("Authorization"), "Bearer secret");
  EXPECT_EQ(seen.header("Accept"), "application/json");
  EXPECT_EQ(seen.header("Content-Type"), "application/json");
  EXPECT_EQ(seen.header("User-Agent").find("stowage/"), 0U);
  EXPECT_EQ(seen.header("Impersonate-User"), "boss");
  EXPECT_EQ(seen.header("Impersonate-Group"), "g");
  EXPECT_EQ((*client)->counters().calls,
            (std::vector<CallCount>{{.method = "POST", .code = 201, .calls = 1}}));
}

TEST_F(ApiClientTest, PutsTheServersWordsIntoTheError) {
  const ApiReply forbidden{403, {}, testing::status_json(403, "Forbidden", "user x cannot bind")};
  EXPECT_EQ(explain("bind pod a/b", forbidden),
            "cannot bind pod a/b: 403 Forbidden: user x cannot bind; grant that right with a role "
            "binding");
  EXPECT_EQ(explain("list pods", {502, {}, "<html>\nbad gateway"}),
            "cannot list pods: 502: <html> bad gateway");
  EXPECT_EQ(explain("list pods", {500, {}, ""}), "cannot list pods: 500");
}

TEST_F(ApiClientTest, WaitsAsLongAsATooBusyServerAsks) {
  server_.script("GET", "/a",
                 {reply(429, "", {{"Retry-After", "0"}}), reply(503, "", {{"Retry-After", "0"}}),
                  reply(429), reply(200)});
  const auto client = server_.client({.retry_pause_default = milliseconds{5}});
  get(*client, "/a");
  ASSERT_TRUE(wait_for(1));
  ASSERT_TRUE(outcomes_[0].has_value());
  EXPECT_EQ(outcomes_[0]->status, 200);
  EXPECT_EQ(client->counters().retries, 3U);
  EXPECT_EQ(client->counters().throttled, 2U);
}

TEST_F(ApiClientTest, PassesABusyReplyOnWhenTheDeadlineIsTooNear) {
  server_.script("GET", "/a", {reply(429, "{}", {{"Retry-After", "30"}})});
  server_.script("GET", "/b", {reply(503)});  // names no time
  const auto client = server_.client();
  get(*client, "/a", Lane::normal, seconds{10});
  get(*client, "/b");
  ASSERT_TRUE(wait_for(2));
  ASSERT_TRUE(outcomes_[0].has_value());
  ASSERT_TRUE(outcomes_[1].has_value());
  EXPECT_EQ(outcomes_[0]->status + outcomes_[1]->status, 429 + 503);
  EXPECT_EQ(client->counters().retries, 0U);
}

TEST_F(ApiClientTest, ReadsRetryAfterFromHeaderAndBody) {
  EXPECT_EQ(retry_after({429, {{"retry-after", "7"}}, ""}), seconds{7});
  EXPECT_EQ(retry_after({429, {{"Retry-After", "soon"}}, ""}), std::nullopt);
  EXPECT_EQ(retry_after({429, {{"Retry-After", "-1"}}, ""}), std::nullopt);
  EXPECT_EQ(retry_after({504, {}, R"({"kind":"Status","details":{"retryAfterSeconds":3}})"}),
            seconds{3});
}

TEST_F(ApiClientTest, AsksAgainWithANewTokenAfterA401) {
  const testing::TempFolder folder;
  ClientConfig config = server_.config();
  config.credentials = BearerTokenFile{folder.write("token", "old")};
  auto client = ApiClient::create(loop_, config);
  ASSERT_TRUE(client.has_value());
  server_.script("GET", "/a",
                 {[&](const SeenRequest&, const std::shared_ptr<net::Responder>& responder) {
                    folder.write("token", "new");
                    responder->send({401, {}, "{}"});
                  },
                  reply(200)});
  get(**client, "/a");
  ASSERT_TRUE(wait_for(1));
  ASSERT_TRUE(outcomes_[0].has_value());
  EXPECT_EQ(outcomes_[0]->status, 200);
  const auto seen = server_.seen("GET", "/a");
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].header("Authorization"), "Bearer old");
  EXPECT_EQ(seen[1].header("Authorization"), "Bearer new");
}

TEST_F(ApiClientTest, PassesA401OnWhenThereIsNoOtherCredential) {
  ClientConfig config = server_.config();
  config.credentials = BearerToken{"t"};
  auto client = ApiClient::create(loop_, config);
  ASSERT_TRUE(client.has_value());
  server_.script("GET", "/a", {refuse(401, "Unauthorized", "Unauthorized")});
  get(**client, "/a");
  ASSERT_TRUE(wait_for(1));
  ASSERT_TRUE(outcomes_[0].has_value());
  EXPECT_EQ(outcomes_[0]->status, 401);
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(ApiClientTest, WithoutACredentialNothingIsSent) {
  ClientConfig config = server_.config();
  config.credentials = ExecPlugin{.api_version = "client.authentication.k8s.io/v1",
                                  .command = "/no/such/plugin",
                                  .install_hint = "install it"};
  auto client = ApiClient::create(loop_, config);
  ASSERT_TRUE(client.has_value());
  get(**client, "/a");
  get(**client, "/b", Lane::bind);
  ASSERT_TRUE(wait_for(2));
  for (const Outcome& outcome : outcomes_) {
    ASSERT_FALSE(outcome.has_value());
    EXPECT_FALSE(outcome.error().sent);
    EXPECT_EQ(outcome.error().message,
              "credential plugin: cannot start /no/such/plugin: No such file or directory; install "
              "it");
  }
  EXPECT_TRUE(server_.seen().empty());
}

TEST_F(ApiClientTest, HasManyCallsInFlightAtOnce) {
  server_.script("GET", "/a", {server_.hold()});
  const auto client = server_.client();
  for (int i = 0; i < 128; ++i) get(*client, "/a", Lane::bind);
  ASSERT_TRUE(run_until(loop_, [&] { return server_.held().size() == 128; }));
  EXPECT_EQ(client->counters().in_flight, 128U);
  for (const auto& responder : server_.held()) responder->send({200, {}, "{}"});
  ASSERT_TRUE(wait_for(128));
  EXPECT_EQ(client->counters().in_flight, 0U);
}

TEST_F(ApiClientTest, SendsTheMoreUrgentFirst) {
  server_.script("GET", "/first", {server_.hold()});
  const auto client = server_.client({.in_flight_max = 1});
  get(*client, "/first");
  for (const auto& [target, lane] :
       std::vector<std::pair<std::string, Lane>>{{"/event", Lane::events},
                                                 {"/normal", Lane::normal},
                                                 {"/bind1", Lane::bind},
                                                 {"/lease", Lane::lease},
                                                 {"/bind2", Lane::bind}}) {
    get(*client, target, lane);
  }
  ASSERT_TRUE(run_until(loop_, [&] { return server_.held().size() == 1; }));
  EXPECT_EQ(client->counters().waiting, (std::array<std::size_t, kLaneCount>{1, 2, 1, 1}));
  server_.held()[0]->send({200, {}, "{}"});
  ASSERT_TRUE(wait_for(6));
  std::vector<std::string> order;
  for (const SeenRequest& seen : server_.seen()) order.push_back(seen.path);
  EXPECT_EQ(order, (std::vector<std::string>{"/first", "/lease", "/bind1", "/bind2", "/normal",
                                             "/event"}));
}

TEST_F(ApiClientTest, EventsUseOnlyTheirShareAndTheOldestAreDropped) {
  server_.script("GET", "/e", {server_.hold()});
  server_.script("GET", "/n", {reply(200)});
  const auto client =
      server_.client({.in_flight_max = 4, .events_in_flight_max = 1, .events_waiting_max = 2});
  std::vector<int> shed;
  for (int i = 0; i < 6; ++i) {
    client->call({.target = "/e", .lane = Lane::events}, seconds{20}, [&, i](const Outcome& o) {
      if (!o && o.error().shed) shed.push_back(i);
    });
  }
  EXPECT_TRUE(shed.empty()) << "called back too early";
  get(*client, "/n");
  ASSERT_TRUE(wait_for(1));
  EXPECT_EQ(shed, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(client->counters().shed, 3U);
  EXPECT_EQ(server_.held().size(), 1U);
}

TEST_F(ApiClientTest, EventsTrickleWhileBindsAreUnderWayAndGoOnWhenItIsQuiet) {
  server_.script("GET", "/b", {server_.hold()});
  server_.script("GET", "/e", {server_.hold()});
  const auto client = server_.client(
      {.events_quiet = milliseconds{20}, .events_beside_binds_pause = milliseconds{10}});
  get(*client, "/b", Lane::bind);
  for (int i = 0; i < 5; ++i) get(*client, "/e", Lane::events);
  ASSERT_TRUE(run_until(loop_, [&] { return server_.held().size() == 2; }));
  testing::run_for(loop_, milliseconds{40});
  EXPECT_EQ(server_.seen("GET", "/e").size(), 1U);

  const bool bind_first = server_.seen().at(0).path == "/b";
  server_.held().at(bind_first ? 1 : 0)->send({200, {}, "{}"});
  ASSERT_TRUE(run_until(loop_, [&] { return server_.held().size() == 3; })) << "they starve";

  server_.held().at(bind_first ? 0 : 1)->send({200, {}, "{}"});
  ASSERT_TRUE(run_until(loop_, [&] { return server_.seen("GET", "/e").size() == 5; }));
}

TEST_F(ApiClientTest, EventsHaveTheirShareOnceBindsHaveGoneOnForLong) {
  server_.script("GET", "/b", {reply(200)});
  server_.script("GET", "/e", {reply(200)});
  const auto client = server_.client({.events_quiet = seconds{20},
                                      .events_beside_binds_pause = seconds{20},
                                      .events_patience = milliseconds{100}});
  net::Timer timer(loop_);
  std::function<void()> bind = [&] {
    get(*client, "/b", Lane::bind);
    timer.start(milliseconds{5}, bind);
  };
  bind();
  for (int i = 0; i < 50; ++i) get(*client, "/e", Lane::events);
  testing::run_for(loop_, milliseconds{50});
  EXPECT_LE(server_.seen("GET", "/e").size(), 1U)
      << "the burst does not have the server for itself";
  EXPECT_TRUE(run_until(loop_, [&] { return server_.seen("GET", "/e").size() == 50; }));
}

TEST_F(ApiClientTest, EventsPauseWhileTheServerIsTooBusy) {
  server_.script("GET", "/n", {reply(429, "{}", {{"Retry-After", "30"}})});
  server_.script("GET", "/e", {reply(200)});
  server_.script("GET", "/b", {reply(200)});
  const auto client = server_.client();
  get(*client, "/n", Lane::normal, seconds{5});
  ASSERT_TRUE(wait_for(1));
  get(*client, "/e", Lane::events, milliseconds{50});
  get(*client, "/b", Lane::bind);
  ASSERT_TRUE(wait_for(3));
  EXPECT_TRUE(server_.seen("GET", "/e").empty());
  EXPECT_EQ(server_.seen("GET", "/b").size(), 1U);
  EXPECT_EQ(client->counters().expired, 1U);
}

TEST_F(ApiClientTest, ADeadlineEndsAlsoACallThatStillWaits) {
  server_.script("GET", "/slow", {server_.hold()});
  const auto client = server_.client({.in_flight_max = 1});
  get(*client, "/slow", Lane::normal, seconds{60});
  get(*client, "/b", Lane::normal, milliseconds{30});
  ASSERT_TRUE(wait_for(1));
  ASSERT_FALSE(outcomes_[0].has_value());
  EXPECT_TRUE(outcomes_[0].error().timed_out);
  EXPECT_FALSE(outcomes_[0].error().sent);
}

TEST_F(ApiClientTest, ADeadlineEndsACallWhoseReplyDoesNotCome) {
  server_.script("GET", "/slow", {server_.hold()});
  const auto client = server_.client();
  get(*client, "/slow", Lane::normal, milliseconds{50});
  ASSERT_TRUE(wait_for(1));
  ASSERT_FALSE(outcomes_[0].has_value());
  EXPECT_TRUE(outcomes_[0].error().timed_out);
}

TEST_F(ApiClientTest, KeepsToItsRate) {
  server_.script("GET", "/a", {reply(200)});
  const auto client = server_.client({.calls_per_second = 50, .burst = 2});
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 7; ++i) get(*client, "/a");
  ASSERT_TRUE(wait_for(7));
  // Two at once, five more at 20 ms each.
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds{90});
}

TEST_F(ApiClientTest, TheRateDoesNotHoldUpLeases) {
  server_.script("GET", "/l", {reply(200)});
  const auto client = server_.client({.calls_per_second = 0.001, .burst = 1});
  get(*client, "/n");
  get(*client, "/n");
  for (int i = 0; i < 5; ++i) get(*client, "/l", Lane::lease);
  ASSERT_TRUE(wait_for(6));
  testing::run_for(loop_, milliseconds{10});
  EXPECT_EQ(server_.seen("GET", "/l").size(), 5U);
  EXPECT_EQ(server_.seen("GET", "/n").size(), 1U);
}

TEST_F(ApiClientTest, RefusesCallsBeyondTheLimit) {
  server_.script("GET", "/a", {server_.hold()});
  const auto client = server_.client({.in_flight_max = 1, .waiting_max = 1});
  for (int i = 0; i < 3; ++i) get(*client, "/a");
  ASSERT_TRUE(wait_for(1));
  ASSERT_FALSE(outcomes_[0].has_value());
  EXPECT_EQ(outcomes_[0].error().message, "1 calls wait for the API server already");
  EXPECT_EQ(client->counters().refused, 1U);
}

TEST_F(ApiClientTest, SaysThatTheServerIsNotThere) {
  const auto client = server_.client();
  server_.stop();
  get(*client, "/a");
  ASSERT_TRUE(wait_for(1));
  ASSERT_FALSE(outcomes_[0].has_value());
  EXPECT_FALSE(outcomes_[0].error().sent);
  EXPECT_NE(outcomes_[0].error().message.find("127.0.0.1"), std::string::npos);
}

TEST_F(ApiClientTest, MayBeDestroyedInItsOwnCallback) {
  server_.script("GET", "/a", {reply(200)});
  auto client = server_.client({.in_flight_max = 1});
  int calls = 0;
  for (int i = 0; i < 3; ++i) {
    client->call({.target = "/a"}, seconds{20}, [&](const Outcome&) {
      ++calls;
      client.reset();
    });
  }
  ASSERT_TRUE(run_until(loop_, [&] { return calls > 0; }));
  testing::run_for(loop_, milliseconds{20});
  EXPECT_EQ(calls, 1);
}

struct StreamLog {
  std::vector<int> heads;
  std::string bytes;
  std::vector<std::string> deps;

  ApiClient::StreamHandler handler() {
    return {.head = [this](const net::HttpResponse& head) { heads.push_back(head.status); },
            .data = [this](std::string_view data) { bytes += data; },
            .end =
                [this](const std::optional<net::CallError>& error) {
                  deps.push_back(error ? error->message : "clean");
                }};
  }
};

TEST_F(ApiClientTest, StreamsAndReopensAStreamAfterA401) {
  const testing::TempFolder folder;
  ClientConfig config = server_.config();
  config.credentials = BearerTokenFile{folder.write("token", "old")};
  auto client = ApiClient::create(loop_, config);
  ASSERT_TRUE(client.has_value());
  server_.script("GET", "/w",
                 {[&](const SeenRequest&, const std::shared_ptr<net::Responder>& responder) {
                    folder.write("token", "new");
                    responder->send({401, {}, "{}"});
                  },
                  server_.stream({"a", "b\n"}, testing::StreamEnd::clean)});
  StreamLog log;
  const auto stream = (*client)->open("/w?watch=1", {}, log.handler());
  ASSERT_TRUE(run_until(loop_, [&] { return !log.deps.empty(); }));
  EXPECT_EQ(log.heads, std::vector<int>{200});
  EXPECT_EQ(log.bytes, "ab\n");
  EXPECT_EQ(log.deps, std::vector<std::string>{"clean"});
  EXPECT_EQ(server_.seen("GET", "/w").at(1).header("Authorization"), "Bearer new");
}

TEST_F(ApiClientTest, AStreamWithoutACredentialEndsWithTheReason) {
  ClientConfig config = server_.config();
  config.credentials = BearerTokenFile{"/no/such"};
  auto client = ApiClient::create(loop_, config);
  ASSERT_TRUE(client.has_value());
  StreamLog log;
  const auto stream = (*client)->open("/w", {}, log.handler());
  ASSERT_TRUE(run_until(loop_, [&] { return !log.deps.empty(); }));
  EXPECT_EQ(log.deps[0], "cannot read /no/such: No such file or directory");
}

TEST(ApiClientTls, TrustsTheGivenAuthorityAndReadsItAgain) {
  net::EventLoop loop;
  const auto first = net::make_self_signed({.common_name = "one", .hosts = {"127.0.0.1"}});
  const auto second = net::make_self_signed({.common_name = "two", .hosts = {"127.0.0.1"}});
  ASSERT_TRUE(first.has_value() && second.has_value());
  auto tls = net::make_server_tls(
      {.certificate_pem = second->certificate_pem, .key_pem = second->key_pem});
  ASSERT_TRUE(tls.has_value());
  FakeApiServer server(loop, *tls);
  server.script("GET", "/a", {reply(200)});
  const testing::TempFolder folder;
  ClientConfig config = server.config();
  config.ca_file = folder.write("ca.crt", first->certificate_pem);
  config.ca_pem = first->certificate_pem;
  auto client = ApiClient::create(loop, config, {.reread_every = milliseconds{10}});
  ASSERT_TRUE(client.has_value()) << client.error().message;

  std::optional<Outcome> outcome;
  const auto call = [&] {
    outcome.reset();
    (*client)->call({.target = "/a"}, seconds{20}, [&](Outcome o) { outcome = std::move(o); });
    return run_until(loop, [&] { return outcome.has_value(); });
  };
  ASSERT_TRUE(call());
  EXPECT_FALSE(outcome->has_value()) << "signed by somebody else";
  folder.write("ca.crt", second->certificate_pem);
  testing::run_for(loop, milliseconds{100});
  ASSERT_TRUE(call());
  ASSERT_TRUE(outcome->has_value()) << outcome->error().message;
}

TEST(ApiClientTls, RefusesABadAuthority) {
  net::EventLoop loop;
  ClientConfig config;
  config.origin = "context \"x\"";
  config.server = {.tls = true, .host = "127.0.0.1", .port = 1};
  config.ca_pem = "no certificate";
  const auto client = ApiClient::create(loop, config);
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().message.find("context \"x\": "), 0U);
}

}  // namespace
}  // namespace stowage::kube
