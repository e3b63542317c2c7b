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
using testing::RawServer;
using testing::RawSocket;
using testing::run_until;

std::shared_ptr<const std::string> text(std::string value) {
  return std::make_shared<const std::string>(std::move(value));
}

// What a stream has reported so far.
struct Seen {
  int heads = 0;
  int ends = 0;
  HttpResponse head;
  std::string data;
  std::optional<CallError> error;
};

HttpClient::StreamHandler recording(Seen& seen) {
  return {.head =
              [&seen](HttpResponse head) {
                ++seen.heads;
                seen.head = std::move(head);
              },
          .data =
              [&seen](std::string_view data) {
                EXPECT_EQ(seen.heads, 1);
                seen.data += data;
              },
          .end =
              [&seen](std::optional<CallError> error) {
                ++seen.ends;
                seen.error = std::move(error);
              }};
}

// A client and a server on one loop; the server holds every request.
class HttpStreamTest : public ::testing::Test {
 protected:
  HttpStreamTest() {
    auto server = HttpServer::listen(
        loop_, {}, [this](const ServerRequest&, std::shared_ptr<Responder> responder) {
          responder->on_closed([this] { ++closed_; });
          held_.push_back(std::move(responder));
        });
    server_ = std::move(*server);
    client_.emplace(loop_,
                    HttpClientOptions{.server = {.host = "127.0.0.1", .port = server_->port()}});
  }

  Responder& watch(const HttpClient::StreamOptions& options = {}) {
    stream_ = client_->open({.target = "/watch"}, options, recording(seen_));
    EXPECT_TRUE(run_until(loop_, [&] { return !held_.empty(); }));
    return *held_.front();
  }

  EventLoop loop_;
  std::unique_ptr<HttpServer> server_;
  std::vector<std::shared_ptr<Responder>> held_;
  int closed_ = 0;
  std::optional<HttpClient> client_;
  Seen seen_;
  std::unique_ptr<HttpClient::Stream> stream_;
};

TEST_F(HttpStreamTest, HeadDataAndEndComeAsTheyAreSent) {
  Responder& watch = this->watch();
  EXPECT_EQ(seen_.heads, 0);
  watch.begin({.status = 200, .headers = {{"A", "b"}}});
  ASSERT_TRUE(run_until(loop_, [&] { return seen_.heads == 1; }));
  EXPECT_EQ(find_header(seen_.head.headers, "a"), "b");
  watch.write(text("one\n"));
  ASSERT_TRUE(run_until(loop_, [&] { return seen_.data == "one\n"; }));
  watch.write(text("two\n"));
  watch.write(text("three\n"));
  ASSERT_TRUE(run_until(loop_, [&] { return seen_.data == "one\ntwo\nthree\n"; }));
  EXPECT_EQ(seen_.ends, 0);
  watch.end();
  ASSERT_TRUE(run_until(loop_, [&] { return seen_.ends == 1; }));
  EXPECT_FALSE(seen_.error);
  EXPECT_EQ(seen_.heads, 1);
}

TEST_F(HttpStreamTest, AnErrorComesWithItsBodyAndIsTheEnd) {
  watch().send({.status = 410, .body = "too old"});
  ASSERT_TRUE(run_until(loop_, [&] { return seen_.ends == 1; }));
  EXPECT_EQ(seen_.heads, 1);
  EXPECT_EQ(seen_.head.status, 410);
  EXPECT_EQ(seen_.head.body, "too old");
  EXPECT_EQ(seen_.data, "");
  EXPECT_FALSE(seen_.error);
}

TEST_F(HttpStreamTest, AWholeAnswerIsAStreamToo) {
  watch().send({.status = 200, .body = "all"});
  ASSERT_TRUE(run_until(loop_, [&] { return seen_.ends == 1; }));
  EXPECT_EQ(seen_.data, "all");
  EXPECT_EQ(seen_.head.body, "");
  EXPECT_FALSE(seen_.error);
}

TEST_F(HttpStreamTest, ACutInTheMiddleIsAnError) {
  Responder& watch = this->watch();
  watch.begin({.status = 200});
  watch.write(text("one"));
  ASSERT_TRUE(run_until(loop_, [&] { return seen_.data == "one"; }));
  watch.abort();
  ASSERT_TRUE(run_until(loop_, [&] { return seen_.ends == 1; }));
  ASSERT_TRUE(seen_.error);
  EXPECT_EQ(seen_.error->message, "127.0.0.1:" + std::to_string(server_->port()) +
                                      " closed the connection in the middle of a stream");
  EXPECT_TRUE(seen_.error->sent);
  EXPECT_FALSE(seen_.error->timed_out);
}

TEST_F(HttpStreamTest, WithoutAHeadInTimeItEnds) {
  watch({.head_timeout = milliseconds{300}});
  ASSERT_TRUE(run_until(loop_, [&] { return seen_.ends == 1; }));
  ASSERT_TRUE(seen_.error);
  EXPECT_EQ(seen_.error->message, "127.0.0.1:" + std::to_string(server_->port()) +
                                      " did not answer a stream's request within 0.3 s");
  EXPECT_TRUE(seen_.error->timed_out);
  EXPECT_TRUE(seen_.error->sent);
  EXPECT_TRUE(run_until(loop_, [&] { return closed_ == 1; })) << "the server is told";
}

TEST_F(HttpStreamTest, SilenceEndsItIfAsked) {
  Responder& watch = this->watch({.silence_timeout = milliseconds{100}});
  watch.begin({.status = 200});
  watch.write(text("one"));
  ASSERT_TRUE(run_until(loop_, [&] { return seen_.ends == 1; }));
  EXPECT_EQ(seen_.data, "one");
  ASSERT_TRUE(seen_.error);
  EXPECT_EQ(seen_.error->message,
            "no data from 127.0.0.1:" + std::to_string(server_->port()) + " for 0.1 s");
  EXPECT_TRUE(seen_.error->timed_out);
}

TEST_F(HttpStreamTest, AQuietStreamStaysIfNotAsked) {
  watch({.head_timeout = milliseconds{500}}).begin({.status = 200});
  ASSERT_TRUE(run_until(loop_, [&] { return seen_.heads == 1; }));
  testing::run_for(loop_, milliseconds{600});
  EXPECT_EQ(seen_.ends, 0) << "the head came, so its timeout does not matter";
}

TEST_F(HttpStreamTest, TheServerNoticesThatAStreamIsDropped) {
  watch().begin({.status = 200});
  ASSERT_TRUE(run_until(loop_, [&] { return seen_.heads == 1; }));
  stream_.reset();
  EXPECT_TRUE(run_until(loop_, [&] { return closed_ == 1; }));
  EXPECT_EQ(seen_.ends, 0);
}

TEST_F(HttpStreamTest, MayBeDroppedByEachOfItsCallbacks) {
  for (const char* where : {"head", "data", "end"}) {
    int calls_after = 0;
    bool dropped = false;
    const auto drop_at = [&](const char* here) {
      if (dropped) ++calls_after;
      if (std::string_view(where) != here) return;
      dropped = true;
      stream_.reset();
    };
    held_.clear();
    stream_ = client_->open({.target = "/watch"}, {},
                            {.head = [&](const HttpResponse&) { drop_at("head"); },
                             .data = [&](std::string_view) { drop_at("data"); },
                             .end = [&](const std::optional<CallError>&) { drop_at("end"); }});
    ASSERT_TRUE(run_until(loop_, [&] { return !held_.empty(); }));
    held_[0]->begin({.status = 200});
    for (int i = 0; i < 3; ++i) held_[0]->write(text("x"));
    held_[0]->end();
    ASSERT_TRUE(run_until(loop_, [&] { return dropped; }));
    testing::run_for(loop_, milliseconds{10});
    EXPECT_EQ(calls_after, 0) << where;
  }
}

TEST_F(HttpStreamTest, ItIsNotCountedAsACallAndOutlivesItsClient) {
  Responder& watch = this->watch();
  EXPECT_EQ(client_->in_flight(), 0U);
  client_.reset();
  watch.begin({.status = 200});
  watch.write(text("still here"));
  EXPECT_TRUE(run_until(loop_, [&] { return seen_.data == "still here"; }));
}

TEST_F(HttpStreamTest, WhatCannotBeOpenedEndsWithTheReason) {
  Seen closed;
  Seen bad;
  Seen refused;
  HttpClient nobody(loop_, {.server = {.host = "127.0.0.1", .port = testing::unused_port()}});
  const auto first = nobody.open({}, {}, recording(refused));
  const auto second = client_->open({.target = "no slash"}, {}, recording(bad));
  client_->close();
  const auto third = client_->open({}, {}, recording(closed));
  EXPECT_EQ(bad.ends + closed.ends, 0) << "not from inside of open()";
  ASSERT_TRUE(run_until(loop_, [&] { return closed.ends + bad.ends + refused.ends == 3; }));
  EXPECT_TRUE(closed.error->message.ends_with(" is closed"));
  EXPECT_TRUE(bad.error->message.starts_with("the target of a request must begin with /"));
  EXPECT_TRUE(refused.error->message.ends_with("connection refused"));
  EXPECT_FALSE(refused.error->sent);
}

TEST_F(HttpStreamTest, ManyWatchersGetEveryByteInOrder) {
  constexpr std::size_t kWatchers = 8;
  constexpr int kEvents = 3000;
  std::vector<Seen> seen(kWatchers);
  std::vector<std::unique_ptr<HttpClient::Stream>> streams;
  streams.reserve(kWatchers);
  for (Seen& one : seen) streams.push_back(client_->open({}, {}, recording(one)));
  ASSERT_TRUE(run_until(loop_, [&] { return held_.size() == kWatchers; }));
  std::string all;
  for (const auto& watch : held_) watch->begin({.status = 200});
  for (int i = 0; i < kEvents; ++i) {
    const auto event =
        text("event " + std::to_string(i) + std::string(static_cast<std::size_t>(i), 'x') + "\n");
    all += *event;
    for (const auto& watch : held_) watch->write(event);
  }
  for (const auto& watch : held_) watch->end();
  ASSERT_TRUE(run_until(loop_, [&] {
    return std::all_of(seen.begin(), seen.end(), [](const Seen& one) { return one.ends == 1; });
  }));
  for (const Seen& one : seen) {
    EXPECT_FALSE(one.error);
    EXPECT_TRUE(one.data == all);
  }
}

TEST(HttpStreamPeer, MalformedChunksEndItAfterTheGoodOnes) {
  const RawServer server([](RawSocket socket, int) {
    static_cast<void>(socket.read_until("\r\n\r\n"));
    socket.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nnonsense\r\n");
    static_cast<void>(socket.read_all());
  });
  EventLoop loop;
  Seen seen;
  HttpClient client(loop, {.server = {.host = "127.0.0.1", .port = server.port()}});
  const auto stream = client.open({}, {}, recording(seen));
  ASSERT_TRUE(run_until(loop, [&] { return seen.ends == 1; }));
  EXPECT_EQ(seen.data, "abc");
  ASSERT_TRUE(seen.error);
  EXPECT_EQ(seen.error->message,
            "127.0.0.1:" + std::to_string(server.port()) + ": malformed response: bad chunk");
}

TEST(HttpStreamPeer, ABodyWithoutFramingEndsWithTheConnection) {
  const RawServer server([](RawSocket socket, int) {
    static_cast<void>(socket.read_until("\r\n\r\n"));
    socket.send("HTTP/1.1 200 OK\r\n\r\nall of it");
  });
  EventLoop loop;
  Seen seen;
  HttpClient client(loop, {.server = {.host = "127.0.0.1", .port = server.port()}});
  const auto stream = client.open({}, {}, recording(seen));
  ASSERT_TRUE(run_until(loop, [&] { return seen.ends == 1; }));
  EXPECT_EQ(seen.data, "all of it");
  EXPECT_FALSE(seen.error);
}

}  // namespace
}  // namespace stowage::net
