#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "net/http_client.h"
#include "net/http_server.h"
#include "net/testing/loops.h"
#include "net/testing/raw_socket.h"

namespace stowage::net {
namespace {

using std::chrono::milliseconds;
using testing::RawSocket;
using testing::run_until;

constexpr const char* kProtocol = "parrot/1";

std::shared_ptr<const std::string> text(std::string value) {
  return std::make_shared<const std::string>(std::move(value));
}

// A server that echoes to clients that speak its protocol.
class UpgradeTest : public ::testing::Test {
 protected:
  UpgradeTest() {
    auto server =
        HttpServer::listen(loop_, options_, [this](const ServerRequest& request, auto responder) {
          serve(request, std::move(responder));
        });
    EXPECT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    client_ = std::make_unique<HttpClient>(
        loop_, HttpClientOptions{.server = {.host = "127.0.0.1", .port = server_->port()}});
  }

  void serve(const ServerRequest& request, std::shared_ptr<Responder> responder) {
    if (!asks_for(request.http, kProtocol)) {
      responder->send({.status = 426, .headers = {{"Upgrade", kProtocol}}, .body = "speak parrot"});
      return;
    }
    responder->on_closed([this] { ++closed_; });
    responder_ = responder;
    responder->upgrade(kProtocol, [this](std::string_view data) {
      heard_ += data;
      if (heard_.ends_with("quit")) {
        responder_->end();
      } else if (heard_.ends_with("die")) {
        responder_->abort();
      } else if (echo_) {
        responder_->write(text(std::string(data)));
      }
    });
  }

  std::unique_ptr<HttpClient::Stream> open(HttpClient::StreamOptions options = {},
                                           std::string protocol = kProtocol) {
    return client_->open({.method = "GET", .target = "/talk", .headers = {{"Upgrade", protocol}}},
                         options,
                         {.head = [this](HttpResponse head) { head_ = std::move(head); },
                          .data = [this](std::string_view data) { said_ += data; },
                          .end =
                              [this](std::optional<CallError> error) {
                                ++ends_;
                                error_ = std::move(error);
                              }});
  }

  EventLoop loop_;
  HttpServerOptions options_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<HttpClient> client_;
  std::shared_ptr<Responder> responder_;
  std::string heard_;
  std::string said_;
  std::optional<HttpResponse> head_;
  std::optional<CallError> error_;
  int ends_ = 0;
  int closed_ = 0;
  bool echo_ = true;
};

TEST_F(UpgradeTest, BothSidesWriteWhatTheyLike) {
  const auto stream = open();
  ASSERT_TRUE(run_until(loop_, [&] { return head_.has_value(); }));
  EXPECT_EQ(head_->status, 101);
  EXPECT_EQ(find_header(head_->headers, "upgrade"), kProtocol);
  stream->write("hello\n");
  ASSERT_TRUE(run_until(loop_, [&] { return said_ == "hello\n"; }));
  stream->write("0\r\n\r\nGET / HTTP/1.1\r\n");  // framing is not parsed
  ASSERT_TRUE(run_until(loop_, [&] { return said_.ends_with("HTTP/1.1\r\n"); }));
  EXPECT_EQ(ends_, 0);
}

TEST_F(UpgradeTest, MuchGoesThroughInOrder) {
  const auto stream = open();
  ASSERT_TRUE(run_until(loop_, [&] { return head_.has_value(); }));
  std::string all;
  for (int i = 0; i < 2000; ++i) {
    const std::string line = std::to_string(i) + std::string(500, 'x') + "\n";
    all += line;
    stream->write(line);
  }
  ASSERT_TRUE(run_until(loop_, [&] { return said_.size() == all.size(); }));
  EXPECT_EQ(said_, all);
  EXPECT_EQ(stream->backlog(), 0U);
}

TEST_F(UpgradeTest, TheServerEndsInOrder) {
  const auto stream = open();
  ASSERT_TRUE(run_until(loop_, [&] { return head_.has_value(); }));
  stream->write("quit");
  ASSERT_TRUE(run_until(loop_, [&] { return ends_ == 1; }));
  EXPECT_FALSE(error_);
  stream->write("more");  // is dropped
  EXPECT_EQ(stream->backlog(), 0U);
}

TEST_F(UpgradeTest, TheServerCutsInTheMiddleOfACallback) {
  const auto stream = open();
  ASSERT_TRUE(run_until(loop_, [&] { return head_.has_value(); }));
  stream->write("die");
  ASSERT_TRUE(run_until(loop_, [&] { return ends_ == 1 && closed_ == 1; }));
}

TEST_F(UpgradeTest, TheClientGoes) {
  auto stream = open();
  ASSERT_TRUE(run_until(loop_, [&] { return head_.has_value(); }));
  stream.reset();
  ASSERT_TRUE(run_until(loop_, [&] { return closed_ == 1; }));
  EXPECT_EQ(ends_, 0);
}

TEST_F(UpgradeTest, AnotherProtocolIsRefusedWithWords) {
  const auto stream = open({}, "crow/1");
  ASSERT_TRUE(run_until(loop_, [&] { return ends_ == 1; }));
  EXPECT_EQ(head_->status, 426);
  EXPECT_EQ(head_->body, "speak parrot");
}

TEST_F(UpgradeTest, SilenceEndsTheStream) {
  const auto stream = open({.silence_timeout = milliseconds{50}});
  ASSERT_TRUE(run_until(loop_, [&] { return ends_ == 1; }));
  EXPECT_TRUE(error_ && error_->timed_out);
}

TEST_F(UpgradeTest, TheServerShutsDownWhileTheyTalk) {
  const auto stream = open();
  ASSERT_TRUE(run_until(loop_, [&] { return head_.has_value(); }));
  bool done = false;
  server_->shutdown(milliseconds{20}, [&] { done = true; });
  ASSERT_TRUE(run_until(loop_, [&] { return done && ends_ == 1 && closed_ == 1; }));
}

// A client that does not wait for the 101.
TEST_F(UpgradeTest, WhatCameWithTheRequestIsData) {
  RawSocket socket = RawSocket::connect(server_->port());
  socket.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: parrot/1\r\n\r\nearly");
  ASSERT_TRUE(run_until(loop_, [&] { return heard_ == "early"; }));
}

TEST_F(UpgradeTest, UpgradeWithoutConnectionIsNone) {
  RawSocket socket = RawSocket::connect(server_->port());
  socket.send("GET / HTTP/1.1\r\nHost: x\r\nUpgrade: parrot/1\r\n\r\n");
  testing::run_for(loop_, milliseconds{100});
  EXPECT_NE(socket.read_until("speak parrot").find("426"), std::string::npos);
}

}  // namespace
}  // namespace stowage::net
