#include "net/http_client.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "net/http_server.h"
#include "net/testing/held_server.h"
#include "net/testing/loops.h"
#include "net/testing/raw_socket.h"

namespace stowage::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::RawServer;
using testing::RawSocket;
using testing::run_until;
using Answer = tl::expected<HttpResponse, CallError>;

constexpr Duration kLong = seconds{60};

// A client and, unless a test uses another peer, a server on one loop. The server echoes; requests
// to /hold are held.
class HttpClientTest : public ::testing::Test {
 protected:
  void listen(HttpServerOptions options = {}) {
    auto server = HttpServer::listen(
        loop_, std::move(options),
        [this](const ServerRequest& request, std::shared_ptr<Responder> responder) {
          peers_.insert(request.peer);
          most_ = std::max(most_, server_->connections());
          if (request.http.target == "/hold") {
            held_.push_back(std::move(responder));
          } else if (request.http.target == "/none") {
            responder->send({.status = 204});
          } else {
            responder->send({.status = 201,
                             .headers = {{"X-Method", request.http.method}},
                             .body = request.http.target + request.http.body});
          }
        });
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    connect(server_->port());
  }

  void connect(std::uint16_t port, HttpClientOptions options = {}) {
    if (options.server.host.empty()) options.server.host = "127.0.0.1";
    options.server.port = port;
    client_.emplace(loop_, std::move(options));
  }

  void send(HttpRequest request, Duration deadline = kLong) {
    client_->send(std::move(request), deadline,
                  [this](Answer answer) { answers_.push_back(std::move(answer)); });
  }

  Answer call(HttpRequest request, Duration deadline = kLong) {
    const std::size_t before = answers_.size();
    send(std::move(request), deadline);
    EXPECT_EQ(answers_.size(), before) << "no reply from inside of send()";
    EXPECT_TRUE(run_until(loop_, [&] { return answers_.size() > before; }));
    return answers_.size() > before ? answers_.back()
                                    : tl::unexpected(CallError{.message = "no reply"});
  }

  EventLoop loop_;
  std::unique_ptr<HttpServer> server_;
  std::vector<std::shared_ptr<Responder>> held_;
  std::set<std::string> peers_;
  std::size_t most_ = 0;
  std::optional<HttpClient> client_;
  std::vector<Answer> answers_;
};

TEST_F(HttpClientTest, CallsAndKeepsItsConnection) {
  listen();
  for (int i = 0; i < 20; ++i) {
    const Answer got = call({.method = "POST", .target = "/a?b", .body = "body"});
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->status, 201);
    EXPECT_EQ(got->body, "/a?bbody");
    EXPECT_EQ(find_header(got->headers, "x-method"), "POST");
  }
  const Answer head = call({.method = "HEAD", .target = "/x"});
  ASSERT_TRUE(head);
  EXPECT_EQ(head->body, "");
  EXPECT_EQ(find_header(head->headers, "content-length"), "2");
  EXPECT_EQ(call({.target = "/none"})->status, 204);
  EXPECT_EQ(call({.target = "/y"})->body, "/y");
  EXPECT_EQ(peers_.size(), 1U) << "one connection for all";
}

TEST_F(HttpClientTest, ManyCallsShareFewConnections) {
  listen();
  connect(server_->port(), {.connections_max = 4});
  for (int i = 0; i < 500; ++i) send({.target = "/" + std::to_string(i)});
  EXPECT_EQ(client_->waiting(), 500U);
  ASSERT_TRUE(run_until(loop_, [&] { return answers_.size() == 500; }));
  std::set<std::string> bodies;
  for (const Answer& answer : answers_) bodies.insert(answer->body);
  EXPECT_EQ(bodies.size(), 500U);
  EXPECT_LE(most_, 4U);
  EXPECT_EQ(client_->waiting(), 0U);
  EXPECT_EQ(client_->in_flight(), 0U);
}

TEST_F(HttpClientTest, ClientAndServerMayBeOnThreadsOfTheirOwn) {
  testing::HeldServer server(HttpServerOptions{});
  connect(server.port(), {.connections_max = 8});
  int left = 2000;
  std::function<void()> next = [&] {
    client_->send({.method = "POST", .target = "/echo", .body = std::to_string(left)}, kLong,
                  [&, wanted = "POST /echo " + std::to_string(left)](const Answer& answer) {
                    ASSERT_TRUE(answer) << answer.error().message;
                    EXPECT_EQ(answer->body, wanted);
                    if (--left > 0) next();
                  });
  };
  for (int i = 0; i < 16; ++i) next();
  EXPECT_TRUE(run_until(loop_, [&] { return left <= 0 && client_->in_flight() == 0; }));
}

TEST_F(HttpClientTest, CallsBeyondTheQueueAreRefused) {
  listen();
  connect(server_->port(), {.connections_max = 1, .waiting_max = 2});
  send({.target = "/hold"});
  ASSERT_TRUE(run_until(loop_, [&] { return held_.size() == 1; }));
  for (int i = 0; i < 3; ++i) send({.target = "/x"});
  ASSERT_TRUE(run_until(loop_, [&] { return !answers_.empty(); }));
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].error().message, "2 calls to 127.0.0.1:" + std::to_string(server_->port()) +
                                             " wait already: the server is too slow");
  EXPECT_FALSE(answers_[0].error().sent);
  EXPECT_EQ(client_->in_flight(), 1U);
  EXPECT_EQ(client_->waiting(), 2U);
  held_[0]->send({.status = 200});
  EXPECT_TRUE(run_until(loop_, [&] { return answers_.size() == 4; }));
}

TEST_F(HttpClientTest, ACallThatIsNotAnsweredEndsAtItsDeadline) {
  listen();
  const std::string peer = "127.0.0.1:" + std::to_string(server_->port());
  connect(server_->port(), {.connections_max = 1});
  send({.target = "/hold"}, kLong);
  ASSERT_TRUE(run_until(loop_, [&] { return held_.size() == 1; }));
  const Answer waited = call({.target = "/waits"}, milliseconds{50});
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().message, peer + ": GET /waits found no free connection within 0.05 s");
  EXPECT_TRUE(waited.error().timed_out);
  EXPECT_FALSE(waited.error().sent);
  held_[0]->send({.status = 200});
  ASSERT_TRUE(run_until(loop_, [&] { return answers_.size() == 2; }));
  const Answer asked = call({.target = "/hold?secret=1"}, milliseconds{50});
  EXPECT_TRUE(asked) << "not held";
  send({.target = "/hold"}, milliseconds{200});
  ASSERT_TRUE(run_until(loop_, [&] { return held_.size() == 2; }));
  ASSERT_TRUE(run_until(loop_, [&] { return answers_.size() == 4; }));
  EXPECT_EQ(answers_[3].error().message, peer + " did not answer GET /hold within 0.2 s");
  EXPECT_TRUE(answers_[3].error().timed_out);
  EXPECT_TRUE(answers_[3].error().sent);
  EXPECT_TRUE(call({.target = "/next"})) << "on a new connection";
  EXPECT_EQ(peers_.size(), 2U);
}

TEST_F(HttpClientTest, NoServerListens) {
  const std::uint16_t port = testing::unused_port();
  connect(port);
  const Answer got = call({});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message,
            "cannot connect to 127.0.0.1:" + std::to_string(port) + ": connection refused");
  EXPECT_FALSE(got.error().sent);
  EXPECT_FALSE(got.error().timed_out);
  for (int i = 0; i < 300; ++i) send({});
  EXPECT_TRUE(run_until(loop_, [&] { return answers_.size() == 301; }));
}

TEST_F(HttpClientTest, NoServerAcceptsTheConnection) {
  testing::FullListener listener;
  connect(listener.port(), {.connect_timeout = milliseconds{100}});
  const Answer got = call({});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message, "cannot connect to 127.0.0.1:" + std::to_string(listener.port()) +
                                     ": no answer within 0.1 s");
  EXPECT_TRUE(got.error().timed_out);
  EXPECT_FALSE(got.error().sent);
}

TEST_F(HttpClientTest, EveryAddressOfANameIsTried) {
  listen();  // on 127.0.0.1; localhost may be ::1 as well
  connect(server_->port(), {.server = {.host = "localhost"}});
  const Answer got = call({.target = "/x"});
  ASSERT_TRUE(got) << got.error().message;
}

TEST_F(HttpClientTest, SpeaksIpv6) {
  auto server = HttpServer::listen(
      loop_, {.address = "::1"},
      [](const ServerRequest& request, const std::shared_ptr<Responder>& responder) {
        responder->send(
            {.status = 200,
             .body = request.peer + " " + std::string(find_header(request.http.headers, "Host"))});
      });
  if (!server) GTEST_SKIP() << server.error().message;
  const std::uint16_t port = (*server)->port();
  connect(port, {.server = {.host = "::1"}});
  const Answer got = call({});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_TRUE(got->body.starts_with("[::1]:")) << got->body;
  EXPECT_TRUE(got->body.ends_with(" [::1]:" + std::to_string(port))) << got->body;
}

TEST_F(HttpClientTest, ABadRequestIsRefusedBeforeItIsSent) {
  listen();
  const Answer got = call({.headers = {{"A", "b\r\nEvil: c"}}});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message, "the value of header A has a line break");
  EXPECT_FALSE(got.error().sent);
  EXPECT_TRUE(peers_.empty());
}

TEST_F(HttpClientTest, ThePathOfTheServerComesFirst) {
  listen();
  connect(server_->port(), {.server = {.host = "127.0.0.1", .path = "/base"}});
  EXPECT_EQ(call({.target = "/x"})->body, "/base/x");
}

TEST_F(HttpClientTest, MayBeDestroyedByAReplyAndCallsInProgressEndSilently) {
  listen();
  int replies = 0;
  for (int i = 0; i < 10; ++i) {
    client_->send({.target = "/x"}, kLong, [&](const Answer&) {
      ++replies;
      client_.reset();
    });
  }
  client_->send({.target = "/hold"}, kLong, [&](const Answer&) { ++replies; });
  ASSERT_TRUE(run_until(loop_, [&] { return !client_; }));
  testing::run_for(loop_, milliseconds{20});
  EXPECT_EQ(replies, 1);
}

TEST_F(HttpClientTest, MayBeDestroyedByAnErrorsReply) {
  int replies = 0;
  const auto reply = [&](const Answer& answer) {
    EXPECT_FALSE(answer);
    ++replies;
    client_.reset();
  };
  for (const char* method : {"GET", "bad method"}) {
    for (const Duration deadline : {kLong, Duration{}}) {
      connect(testing::unused_port());
      replies = 0;
      for (int i = 0; i < 10; ++i) client_->send({.method = method}, deadline, reply);
      ASSERT_TRUE(run_until(loop_, [&] { return !client_; }));
      testing::run_for(loop_, milliseconds{20});
      EXPECT_EQ(replies, 1);
    }
  }
}

TEST_F(HttpClientTest, AClosedClientEndsItsCallsAndTakesNoMore) {
  listen();
  send({.target = "/hold"});
  ASSERT_TRUE(run_until(loop_, [&] { return held_.size() == 1; }));
  client_->close();
  const Answer refused = call({});
  EXPECT_EQ(refused.error().message,
            "the client of 127.0.0.1:" + std::to_string(server_->port()) + " is closed");
  held_[0]->send({.status = 200});
  ASSERT_TRUE(run_until(loop_, [&] { return answers_.size() == 2; }));
  EXPECT_TRUE(answers_[1]);
  EXPECT_TRUE(run_until(loop_, [&] { return server_->connections() == 0; }));
}

TEST_F(HttpClientTest, IdleConnectionsAreClosed) {
  listen();
  connect(server_->port(), {.idle_timeout = milliseconds{20}});
  EXPECT_TRUE(call({.target = "/x"}));
  EXPECT_TRUE(run_until(loop_, [&] { return server_->connections() == 0; }));
  EXPECT_TRUE(call({.target = "/x"}));
}

TEST_F(HttpClientTest, ALargeBodyGoesBothWays) {
  constexpr std::size_t kSize = 40'000'000;
  listen({.body_bytes_max = kSize});
  std::string body(kSize, 'x');
  for (std::size_t i = 0; i < kSize; i += 997) body[i] = static_cast<char>('a' + i % 23);
  const Answer got = call({.method = "PUT", .target = "/", .body = body});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_TRUE(got->body == "/" + body);
  EXPECT_TRUE(call({.target = "/small"}));
  EXPECT_EQ(peers_.size(), 1U);
}

TEST_F(HttpClientTest, ABodyBeyondTheLimitIsAnError) {
  listen();
  connect(server_->port(), {.body_bytes_max = 1000});
  EXPECT_TRUE(call({.method = "PUT", .target = "/", .body = std::string(999, 'x')}));
  const Answer got = call({.method = "PUT", .target = "/", .body = std::string(1000, 'x')});
  ASSERT_FALSE(got);
  EXPECT_TRUE(got.error().message.ends_with(": PUT /: the body of the response is too large"));
  EXPECT_TRUE(got.error().sent);
}

}  // namespace
}  // namespace stowage::net
