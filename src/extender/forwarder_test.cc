#include "extender/forwarder.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kube/leader_proxy.h"
#include "net/testing/loops.h"

namespace stowage::extender {
namespace {

using net::testing::run_until;

// A replica that forwards everything, one that answers, and a client of the former.
class ForwarderTest : public ::testing::Test {
 protected:
  ForwarderTest() {
    leader_ = listen([this](const net::ServerRequest& request,
                            const std::shared_ptr<net::Responder>& responder) {
      if (request.http.target == "/hold") return held_.push_back(responder);
      const std::string mark(net::find_header(request.http.headers, kube::kForwardedHeader));
      responder->send({.status = 201,
                       .headers = {{"Content-Type", "text/x"}, {"X-Own", "1"}},
                       .body = request.http.method + " " + request.http.target + " " +
                               request.http.body + " " + mark});
    });
    standby_ =
        listen([this](net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
          forwarder_.forward(std::move(request), std::move(responder));
        });
    net::HttpClientOptions options;
    options.server.host = "127.0.0.1";
    options.server.port = standby_->port();
    client_ = std::make_unique<net::HttpClient>(loop_, options);
  }

  std::unique_ptr<net::HttpServer> listen(net::HttpServer::Handler handler) {
    return net::HttpServer::listen(loop_, {}, std::move(handler)).value();
  }
  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(leader_->port());
  }
  void send(const std::string& target, net::Headers headers = {}) {
    client_->send({.method = "POST", .target = target, .headers = std::move(headers), .body = "{}"},
                  std::chrono::seconds{60}, [this](auto reply) { answers_.push_back(*reply); });
  }
  net::HttpResponse ask(const std::string& target, net::Headers headers = {}) {
    const std::size_t before = answers_.size();
    send(target, std::move(headers));
    EXPECT_TRUE(run_until(loop_, [&] { return answers_.size() > before; }));
    return answers_.back();
  }

  net::EventLoop loop_;
  std::vector<std::shared_ptr<net::Responder>> held_;
  Forwarder forwarder_{loop_, {.deadline = std::chrono::milliseconds{300}, .in_flight_max = 2}};
  std::unique_ptr<net::HttpServer> leader_;
  std::unique_ptr<net::HttpServer> standby_;
  std::unique_ptr<net::HttpClient> client_;
  std::vector<net::HttpResponse> answers_;
};

TEST_F(ForwarderTest, TheAnswerOfTheLeaderIsPassedBack) {
  forwarder_.set_leader({.url = url(), .why = ""});
  const auto answer = ask("/stowage/filter?x=1", {{"Content-Type", "application/json"}});
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, "POST /stowage/filter?x=1 {} 1");
  EXPECT_EQ(net::find_header(answer.headers, "Content-Type"), "text/x");
  EXPECT_EQ(net::find_header(answer.headers, "X-Own"), "");
  EXPECT_EQ(forwarder_.counters().forwarded, 1U);
  EXPECT_EQ(forwarder_.counters().under_way, 0U);
}

TEST_F(ForwarderTest, WhatCannotBePassedOnIsAnsweredWithWords) {
  EXPECT_EQ(ask("/a").status, 503);
  forwarder_.set_leader({.url = "", .why = "nobody leads"});
  EXPECT_EQ(ask("/a").body, "this replica does not lead, and nobody leads\n");
  forwarder_.set_leader({.url = "ftp://x", .why = ""});
  EXPECT_NE(ask("/a").body.find("the leader publishes an invalid address"), std::string::npos);
  forwarder_.set_leader({.url = "https://127.0.0.1:1", .why = ""});
  EXPECT_NE(ask("/a").body.find("no certificates"), std::string::npos);
  forwarder_.set_leader({.url = url(), .why = ""});
  const auto loop = ask("/a", {{kube::kForwardedHeader, "1"}});
  EXPECT_EQ(loop.status, 503);
  EXPECT_EQ(loop.body, "this replica no longer leads; try again\n");
  EXPECT_EQ(forwarder_.counters().refused, 5U);
  leader_.reset();
  const auto gone = ask("/a");
  EXPECT_EQ(gone.status, 503);
  EXPECT_NE(gone.body.find("the leader cannot be reached"), std::string::npos);
  EXPECT_EQ(forwarder_.counters().failed, 1U);
}

TEST_F(ForwarderTest, ALeaderThatIsSilentIsNotWaitedForLong) {
  forwarder_.set_leader({.url = url(), .why = ""});
  EXPECT_EQ(ask("/hold").status, 503);
  EXPECT_EQ(forwarder_.counters().failed, 1U);
}

TEST_F(ForwarderTest, TooManyAtOnceAreRefusedAndAChangeOfLeaderEndsNothing) {
  forwarder_.set_leader({.url = url(), .why = ""});
  send("/hold");
  send("/hold");
  ASSERT_TRUE(run_until(loop_, [&] { return held_.size() == 2; }));
  EXPECT_NE(ask("/a").body.find("too many"), std::string::npos);
  forwarder_.set_leader({.url = "", .why = "nobody leads"});
  for (const auto& responder : held_) responder->send({.status = 200, .body = "late"});
  ASSERT_TRUE(run_until(loop_, [&] { return answers_.size() == 3; }));
  EXPECT_EQ(answers_.back().body, "late");
}

}  // namespace
}  // namespace stowage::extender
