#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/testing/held_server.h"
#include "net/testing/loops.h"
#include "net/testing/raw_socket.h"
#include "net/tls.h"

namespace stowage::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::RawSocket;
using testing::run_until;
using Answer = tl::expected<HttpResponse, CallError>;

KeyPair pair_for(std::vector<std::string> hosts, int days = 365) {
  return make_self_signed({.common_name = "server", .hosts = std::move(hosts), .days = days})
      .value();
}

std::shared_ptr<TlsContext> server_tls(const KeyPair& pair, std::string client_ca = {},
                                       bool required = false) {
  return make_server_tls({.certificate_pem = pair.certificate_pem,
                          .key_pem = pair.key_pem,
                          .client_ca_pem = std::move(client_ca),
                          .client_required = required})
      .value();
}

std::shared_ptr<TlsContext> client_tls(const KeyPair& trusted) {
  return make_client_tls({.ca_pem = trusted.certificate_pem}).value();
}

class HttpsTest : public ::testing::Test {
 protected:
  void listen(std::shared_ptr<TlsContext> tls, HttpServerOptions options = {}) {
    options.tls = std::move(tls);
    auto server = HttpServer::listen(
        loop_, std::move(options),
        [this](ServerRequest request, std::shared_ptr<Responder> responder) {
          if (request.http.target == "/watch") {
            responder->on_closed([this] { ++closed_; });
            held_.push_back(std::move(responder));
          } else {
            responder->send({.status = 200, .body = std::move(request.http.body)});
          }
          last_ = std::move(request);
        });
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    where_ = ":" + std::to_string(server_->port());
  }

  void connect(const std::string& host, std::shared_ptr<TlsContext> tls) {
    client_.emplace(
        loop_, HttpClientOptions{.server = {.tls = true, .host = host, .port = server_->port()},
                                 .tls = std::move(tls)});
  }

  Answer call(HttpRequest request = {}) {
    std::optional<Answer> got;
    client_->send(std::move(request), seconds{60}, [&](Answer answer) { got = std::move(answer); });
    EXPECT_TRUE(run_until(loop_, [&] { return got.has_value(); }));
    return got ? *got : tl::unexpected(CallError{.message = "no reply"});
  }

  EventLoop loop_;
  std::unique_ptr<HttpServer> server_;
  std::string where_;
  ServerRequest last_;
  std::vector<std::shared_ptr<Responder>> held_;
  int closed_ = 0;
  std::optional<HttpClient> client_;
};

TEST_F(HttpsTest, CallsAreMadeByNameAndByAddress) {
  const KeyPair pair = pair_for({"localhost", "127.0.0.1"});
  listen(server_tls(pair));
  for (const char* host : {"localhost", "127.0.0.1"}) {
    connect(host, client_tls(pair));
    for (int i = 0; i < 3; ++i) {
      const Answer got = call({.method = "POST", .body = "body"});
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_EQ(got->body, "body");
    }
    EXPECT_EQ(last_.client_subject, "");
  }
}

TEST_F(HttpsTest, LargeBodiesGoBothWays) {
  constexpr std::size_t kSize = 10'000'000;
  const KeyPair pair = pair_for({"127.0.0.1"});
  listen(server_tls(pair));
  connect("127.0.0.1", client_tls(pair));
  std::string body(kSize, 'x');
  for (std::size_t i = 0; i < kSize; i += 997) body[i] = static_cast<char>('a' + i % 23);
  const Answer got = call({.method = "PUT", .body = body});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_TRUE(got->body == body);
}

TEST_F(HttpsTest, ABadCertificateIsRefusedWithTheReason) {
  struct Row {
    const char* name;
    KeyPair shown;
    KeyPair trusted;
    const char* message;
  };
  const KeyPair good = pair_for({"127.0.0.1"});
  const KeyPair old = pair_for({"127.0.0.1"}, -1);
  const KeyPair wrong = pair_for({"a.example", "10.1.2.3"});
  const Row rows[] = {
      {"another authority", good, pair_for({"127.0.0.1"}),
       "certificate of 127.0.0.1 is not signed by a trusted CA"},
      {"another name", wrong, wrong, "certificate is for a.example, 10.1.2.3, not 127.0.0.1"},
      {"expired", old, old, "certificate of 127.0.0.1 expired on "},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    listen(server_tls(row.shown));
    connect("127.0.0.1", client_tls(row.trusted));
    const Answer got = call();
    ASSERT_FALSE(got);
    const std::string wanted = "cannot connect to 127.0.0.1" + where_ + ": " + row.message;
    EXPECT_EQ(got.error().message.substr(0, wanted.size()), wanted);
    EXPECT_FALSE(got.error().sent);
    EXPECT_FALSE(got.error().timed_out);
  }
}

TEST_F(HttpsTest, TheNameToExpectMayBeSetAndTheCheckSwitchedOff) {
  const KeyPair pair = pair_for({"kubernetes.default.svc"});
  listen(server_tls(pair));
  connect("127.0.0.1",
          make_client_tls({.ca_pem = pair.certificate_pem, .server_name = "kubernetes.default.svc"})
              .value());
  EXPECT_TRUE(call());
  connect("127.0.0.1", make_client_tls({.insecure = true}).value());
  EXPECT_TRUE(call());
}

TEST_F(HttpsTest, AClientsCertificateTellsWhoItIs) {
  const KeyPair pair = pair_for({"127.0.0.1"});
  const KeyPair admin =
      make_self_signed({.common_name = "admin", .organisations = {"system:masters", "staff"}})
          .value();
  listen(server_tls(pair, admin.certificate_pem));
  connect("127.0.0.1", make_client_tls({.ca_pem = pair.certificate_pem,
                                        .certificate_pem = admin.certificate_pem,
                                        .key_pem = admin.key_pem})
                           .value());
  ASSERT_TRUE(call());
  EXPECT_EQ(last_.client_subject, "admin");
  EXPECT_EQ(last_.client_groups, (std::vector<std::string>{"system:masters", "staff"}));
  connect("127.0.0.1", client_tls(pair));
  ASSERT_TRUE(call()) << "no certificate is fine if none is required";
  EXPECT_EQ(last_.client_subject, "");
  EXPECT_TRUE(last_.client_groups.empty());
}

TEST_F(HttpsTest, WhoVouchesForAClientIsTold) {
  const auto authority = [](const char* name) {
    return make_authority({.common_name = name}).value();
  };
  const KeyPair pair = pair_for({"127.0.0.1"});
  const KeyPair proxies = authority("one");
  const KeyPair people = authority("two");
  const KeyPair both = authority("three");
  // The authorities of proxies and users have the same name: only signatures distinguish them.
  const KeyPair namesake = authority("one");
  const std::vector<ClientAuthority> authorities = {
      {"proxies", proxies.certificate_pem + both.certificate_pem},
      {"people", people.certificate_pem + both.certificate_pem + namesake.certificate_pem}};
  listen(make_server_tls({.certificate_pem = pair.certificate_pem,
                          .key_pem = pair.key_pem,
                          .client_ca_pem = {},
                          .client_authorities = authorities})
             .value());
  struct Row {
    const char* name;
    KeyPair signer;
    std::vector<std::string> vouching;
  };
  const Row rows[] = {{"a proxy", proxies, {"proxies"}},
                      {"a person", people, {"people"}},
                      {"signed by one of both lists", both, {"proxies", "people"}},
                      {"by one that has the name of another", namesake, {"people"}}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const KeyPair client =
        make_signed({.common_name = "c", .organisations = {"g"}}, row.signer).value();
    connect("127.0.0.1", make_client_tls({.ca_pem = pair.certificate_pem,
                                          .certificate_pem = client.certificate_pem,
                                          .key_pem = client.key_pem})
                             .value());
    const Answer got = call();
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(last_.client_subject, "c");
    EXPECT_EQ(last_.client_authorities, row.vouching);
  }
  connect("127.0.0.1", client_tls(pair));
  ASSERT_TRUE(call()) << "no certificate is fine";
  EXPECT_TRUE(last_.client_authorities.empty());
  const KeyPair stranger = make_signed({.common_name = "c"}, authority("one")).value();
  connect("127.0.0.1", make_client_tls({.ca_pem = pair.certificate_pem,
                                        .certificate_pem = stranger.certificate_pem,
                                        .key_pem = stranger.key_pem})
                           .value());
  EXPECT_FALSE(call()) << "a bad one is not";
}

TEST_F(HttpsTest, AClientWithoutTheRightCertificateIsRefused) {
  const KeyPair pair = pair_for({"127.0.0.1"});
  const KeyPair admin = make_self_signed({.common_name = "admin"}).value();
  const KeyPair stranger = make_self_signed({.common_name = "admin"}).value();
  listen(server_tls(pair, admin.certificate_pem, true));
  connect("127.0.0.1", client_tls(pair));
  const Answer none = call();
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("127.0.0.1" + where_), std::string::npos)
      << none.error().message;
  EXPECT_NE(none.error().message.find("certificate of ours"), std::string::npos)
      << none.error().message;
  connect("127.0.0.1", make_client_tls({.ca_pem = pair.certificate_pem,
                                        .certificate_pem = stranger.certificate_pem,
                                        .key_pem = stranger.key_pem})
                           .value());
  const Answer strange = call();
  ASSERT_FALSE(strange);
  EXPECT_NE(strange.error().message.find("the peer refused our certificate"), std::string::npos)
      << strange.error().message;
}

TEST_F(HttpsTest, CertificatesAreRotated) {
  const KeyPair first = pair_for({"127.0.0.1"});
  const KeyPair second = pair_for({"127.0.0.1"});
  listen(server_tls(first));
  connect("127.0.0.1", client_tls(first));
  ASSERT_TRUE(call());
  server_->set_tls(server_tls(second));
  EXPECT_TRUE(call()) << "on the connection that is there";
  client_->set_tls(client_tls(second));
  const Answer got = call();
  EXPECT_TRUE(got) << got.error().message;
  client_->set_tls(client_tls(first));
  EXPECT_FALSE(call()) << "the idle connection was closed";
}

// A client that was not asked for a certificate, and keeps its connection, would never present one.
TEST_F(HttpsTest, ConnectionsAreRetiredAndStreamsGoOn) {
  const KeyPair pair = pair_for({"127.0.0.1"});
  const KeyPair admin = make_self_signed({.common_name = "admin"}).value();
  listen(server_tls(pair));
  connect("127.0.0.1", make_client_tls({.ca_pem = pair.certificate_pem,
                                        .certificate_pem = admin.certificate_pem,
                                        .key_pem = admin.key_pem})
                           .value());
  std::string data;
  int ends = 0;
  const auto stream = client_->open({.target = "/watch"}, {},
                                    {.head = {},
                                     .data = [&](std::string_view more) { data += more; },
                                     .end = [&](const std::optional<CallError>&) { ++ends; }});
  ASSERT_TRUE(run_until(loop_, [&] { return held_.size() == 1; }));
  held_[0]->begin({.status = 200});
  ASSERT_TRUE(call());
  EXPECT_EQ(last_.client_subject, "");
  ASSERT_EQ(server_->connections(), 2U);
  server_->set_tls(server_tls(pair, admin.certificate_pem));
  server_->retire();
  ASSERT_TRUE(run_until(loop_, [&] { return server_->connections() == 1; })) << "the idle one";
  ASSERT_TRUE(call());
  EXPECT_EQ(last_.client_subject, "admin") << "on a new one";
  held_[0]->write(std::make_shared<const std::string>("more"));
  ASSERT_TRUE(run_until(loop_, [&] { return data == "more"; }));
  EXPECT_EQ(ends, 0);
  ASSERT_TRUE(call()) << "new ones are kept";
}

TEST_F(HttpsTest, PlainAndTlsDoNotUnderstandEachOther) {
  const KeyPair pair = pair_for({"127.0.0.1"});
  listen(server_tls(pair), {.handshake_timeout = seconds{20}});
  client_.emplace(loop_,
                  HttpClientOptions{.server = {.host = "127.0.0.1", .port = server_->port()}});
  EXPECT_FALSE(call()) << "plain to TLS";
  listen(nullptr);
  connect("127.0.0.1", client_tls(pair));
  const Answer got = call();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message, "cannot connect to 127.0.0.1" + where_ +
                                     ": TLS failed: the peer does not use TLS on this port");
  connect("127.0.0.1", nullptr);
  EXPECT_EQ(call().error().message, "no certificates are set for 127.0.0.1" + where_);
}

TEST_F(HttpsTest, AHandshakeThatDoesNotEndIsCutOff) {
  listen(server_tls(pair_for({"127.0.0.1"})), {.handshake_timeout = milliseconds{50}});
  RawSocket silent = RawSocket::connect(server_->port());
  ASSERT_TRUE(run_until(loop_, [&] { return server_->connections() == 1; }));
  ASSERT_TRUE(run_until(loop_, [&] { return server_->connections() == 0; }));
  EXPECT_TRUE(silent.at_end());
}

TEST_F(HttpsTest, GarbageInsteadOfAHandshakeIsCutOff) {
  const KeyPair pair = pair_for({"127.0.0.1"});
  testing::HeldServer server(HttpServerOptions{.tls = server_tls(pair)});
  base::Rng rng(7);
  for (int round = 0; round < 50; ++round) {
    // Sometimes starts with a valid record header, so that more code is reached.
    std::string bytes = rng.below(2) == 0 ? std::string("\x16\x03\x01\x02\x00\x01", 6) : "";
    for (int i = 0; i < 600; ++i) bytes += static_cast<char>(rng.below(256));
    RawSocket socket = server.connect();
    socket.send(bytes);
    socket.end_output();
    static_cast<void>(socket.read_all());
  }
  EXPECT_TRUE(server.wait_for([&] { return server.server->connections() == 0; }));
  client_.emplace(
      loop_, HttpClientOptions{.server = {.tls = true, .host = "127.0.0.1", .port = server.port()},
                               .tls = client_tls(pair)});
  EXPECT_TRUE(call({.target = "/echo"})) << "it still serves";
}

TEST_F(HttpsTest, AServerThatDoesNotShakeHandsIsGivenUp) {
  const testing::RawServer silent(
      [](RawSocket socket, int) { static_cast<void>(socket.read_all()); });
  EventLoop loop;
  HttpClient client(loop, {.server = {.tls = true, .host = "127.0.0.1", .port = silent.port()},
                           .tls = client_tls(pair_for({"127.0.0.1"})),
                           .connect_timeout = milliseconds{100}});
  std::optional<Answer> got;
  client.send({}, seconds{60}, [&](Answer answer) { got = std::move(answer); });
  ASSERT_TRUE(run_until(loop, [&] { return got.has_value(); }));
  EXPECT_EQ(got->error().message, "cannot connect to 127.0.0.1:" + std::to_string(silent.port()) +
                                      ": the TLS handshake did not end within 0.1 s");
  EXPECT_TRUE(got->error().timed_out);
  EXPECT_FALSE(got->error().sent);
}

TEST_F(HttpsTest, AStreamGoesOverTlsAndItsEndIsNoticed) {
  const KeyPair pair = pair_for({"127.0.0.1"});
  listen(server_tls(pair));
  connect("127.0.0.1", client_tls(pair));
  std::string data;
  int ends = 0;
  auto stream = client_->open({.target = "/watch"}, {},
                              {.head = {},
                               .data = [&](std::string_view more) { data += more; },
                               .end = [&](const std::optional<CallError>&) { ++ends; }});
  ASSERT_TRUE(run_until(loop_, [&] { return held_.size() == 1; }));
  held_[0]->begin({.status = 200});
  std::string all;
  for (int i = 0; i < 2000; ++i) {
    const auto event =
        std::make_shared<const std::string>(std::to_string(i) + std::string(500, 'x'));
    all += *event;
    held_[0]->write(event);
  }
  EXPECT_EQ(held_[0]->backlog(), all.size());
  ASSERT_TRUE(run_until(loop_, [&] { return data.size() == all.size(); }));
  EXPECT_TRUE(data == all);
  EXPECT_TRUE(run_until(loop_, [&] { return held_[0]->backlog() == 0; }));
  stream.reset();
  EXPECT_TRUE(run_until(loop_, [&] { return closed_ == 1; }));
  EXPECT_EQ(ends, 0);
}

TEST_F(HttpsTest, ShutdownEndsIdleConnectionsInOrder) {
  const KeyPair pair = pair_for({"127.0.0.1"});
  listen(server_tls(pair));
  connect("127.0.0.1", client_tls(pair));
  ASSERT_TRUE(call());
  bool done = false;
  server_->shutdown(seconds{60}, [&] { done = true; });
  EXPECT_TRUE(run_until(loop_, [&] { return done; }));
}

}  // namespace
}  // namespace stowage::net
