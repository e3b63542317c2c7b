#include "local/api_server.h"

#include <gtest/gtest.h>

#include "local/test_cluster.h"
#include "net/http_client.h"

namespace stowage::local {
namespace {

constexpr const char* kPodText =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{)"
    R"("name":"c","image":"i"}]}})";

class ApiServerTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.listen());
    net::HttpClientOptions options;
    options.server = *net::parse_url(server_.url());
    client_ = std::make_unique<net::HttpClient>(loop_, options);
    guard_.start(std::chrono::seconds{60}, [this] {
      ADD_FAILURE() << "nothing happened for a minute";
      loop_.stop();
    });
  }

  net::HttpResponse call(std::string method, std::string target, std::string body = {}) {
    net::HttpRequest request{std::move(method), std::move(target), {}, std::move(body)};
    request.headers.emplace_back("Content-Type", "application/json");
    net::HttpResponse got;
    client_->send(std::move(request), std::chrono::seconds{50}, [&](auto reply) {
      EXPECT_TRUE(reply.has_value());
      if (reply) got = std::move(*reply);
      loop_.stop();
    });
    loop_.run();
    return got;
  }

  // Runs until the stream has received `text`, or has ended.
  std::unique_ptr<net::HttpClient::Stream> watch(const std::string& target) {
    return client_->open({.target = target}, {},
                         {.head = [this](const net::HttpResponse& head) { status_ = head.status; },
                          .data =
                              [this](std::string_view data) {
                                stream_text_ += data;
                                if (stream_text_.find(wanted_) != std::string::npos) loop_.stop();
                              },
                          .end =
                              [this](const std::optional<net::CallError>& error) {
                                clean_end_ = !error;
                                loop_.stop();
                              }});
  }

  net::EventLoop loop_;
  TestCluster cluster_;
  ApiServer server_{loop_, cluster_.api, {}};
  std::unique_ptr<net::HttpClient> client_;
  net::Timer guard_{loop_};
  int status_ = 0;
  std::string wanted_ = "\n";
  std::string stream_text_;
  bool clean_end_ = false;
};

TEST_F(ApiServerTest, ServesObjects) {
  EXPECT_EQ(call("POST", "/api/v1/namespaces/default/pods", kPodText).status, 201);
  const auto got = call("GET", "/api/v1/namespaces/default/pods/p");
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(text_at(parsed(got.body), "metadata.name"), "p");
  EXPECT_EQ(call("GET", "/api/v1/pods?watch=true&labelSelector=%28").status, 400);
  EXPECT_EQ(call("GET", "/healthz").body, "ok");
}

TEST_F(ApiServerTest, AWatchSeesAWriteOfAnotherConnection) {
  const auto stream =
      watch("/api/v1/pods?watch=1&resourceVersion=" + std::to_string(cluster_.store().version()));
  EXPECT_EQ(call("POST", "/api/v1/namespaces/default/pods", kPodText).status, 201);
  if (stream_text_.empty()) loop_.run();
  const json::object event = parsed(stream_text_.substr(0, stream_text_.find('\n')));
  EXPECT_EQ(status_, 200);
  EXPECT_EQ(text_at(event, "type"), "ADDED");
  EXPECT_EQ(text_at(event, "object.metadata.name"), "p");
  EXPECT_EQ(server_.watches(), 1U);
}

TEST_F(ApiServerTest, AWatchSeesWritesFromInsideTheProcess) {
  wanted_ = "\"q\"";
  const auto stream = watch("/api/v1/pods?watch=1&resourceVersion=0");
  loop_.post([this] { cluster_.pod("q"); });
  loop_.run();
  EXPECT_NE(stream_text_.find("\"q\""), std::string::npos);
}

TEST_F(ApiServerTest, AWatchEndsCleanlyAfterItsTime) {
  const auto stream =
      watch("/api/v1/pods?watch=1&timeoutSeconds=1&allowWatchBookmarks=true&resourceVersion=" +
            std::to_string(cluster_.store().version()));
  wanted_ = "never";
  loop_.run();
  EXPECT_TRUE(clean_end_);
  EXPECT_EQ(text_at(parsed(stream_text_), "type"), "BOOKMARK");
}

}  // namespace
}  // namespace stowage::local
