// The client with servers that violate the protocol.
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "net/http_client.h"
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

constexpr const char* kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

Answer call(EventLoop& loop, HttpClient& client, HttpRequest request) {
  std::optional<Answer> got;
  client.send(std::move(request), seconds{60}, [&](Answer answer) { got = std::move(answer); });
  EXPECT_TRUE(run_until(loop, [&] { return got.has_value(); }));
  return got ? *got : tl::unexpected(CallError{.message = "no reply"});
}

HttpClientOptions options_for(const RawServer& server) {
  return {.server = {.host = "127.0.0.1", .port = server.port()},
          .header_bytes_max = 4096,
          .body_bytes_max = 10'000};
}

struct BadResponse {
  const char* name;
  std::string text;
  const char* message;  // after "127.0.0.1:port"
};

TEST(HttpClientPeer, MalformedResponsesAreErrors) {
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "A: b\r\n";
  const BadResponse rows[] = {
      {"garbage", "hello, this is not HTTP\r\n\r\n", ": GET /x: malformed response: bad version"},
      {"a TLS alert", "\x15\x03\x01 and more", ": GET /x: malformed response: bad version"},
      {"a bad status", "HTTP/1.1 abc OK\r\n\r\n", ": GET /x: malformed response: bad status"},
      {"an endless header", "HTTP/1.1 200 OK\r\nA: " + std::string(100'000, 'a'),
       ": GET /x: the head of the response is too large"},
      {"endless headers", "HTTP/1.1 200 OK\r\n" + many,
       ": GET /x: the head of the response is too large"},
      {"a body too long", "HTTP/1.1 200 OK\r\nContent-Length: 10001\r\n\r\n",
       ": GET /x: the body of the response is too large"},
      {"an endless body", "HTTP/1.1 200 OK\r\n\r\n" + std::string(20'000, 'x'),
       ": GET /x: the body of the response is too large"},
      {"a cut body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
       " closed the connection in the middle of the answer (GET /x)"},
      {"a cut chunk", chunked + "5\r\nab",
       " closed the connection in the middle of the answer (GET /x)"},
      {"no last chunk", chunked + "2\r\nab\r\n",
       " closed the connection in the middle of the answer (GET /x)"},
      {"a chunk size that is no number", chunked + "xx\r\n",
       ": GET /x: malformed response: bad chunk"},
      {"a chunk longer than it says", chunked + "1\r\nabc\r\n",
       ": GET /x: malformed response: bad chunk"},
      {"a change of protocol", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
       ": GET /x: the server wants to change the protocol"},
      {"nothing", "", " closed the connection before it answered (GET /x)"},
      {"only a continue", "HTTP/1.1 100 Continue\r\n\r\n",
       " closed the connection in the middle of the answer (GET /x)"},
  };
  for (const BadResponse& row : rows) {
    SCOPED_TRACE(row.name);
    const RawServer server([&](RawSocket socket, int) {
      static_cast<void>(socket.read_until("\r\n\r\n"));
      socket.send(row.text);
      socket.end_output();
      static_cast<void>(socket.read_all());
    });
    EventLoop loop;
    HttpClient client(loop, options_for(server));
    const Answer got = call(loop, client, {.target = "/x?y"});
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().message, "127.0.0.1:" + std::to_string(server.port()) + row.message);
    EXPECT_TRUE(got.error().sent);
    EXPECT_FALSE(got.error().timed_out);
  }
}

TEST(HttpClientPeer, UnusualResponsesAreUnderstood) {
  struct Row {
    const char* name;
    const char* text;
    const char* body;
  };
  const Row rows[] = {
      {"continue first",
       "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\n"
       "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
       "ok"},
      {"a body until the end", "HTTP/1.0 200 OK\r\n\r\nall of it", "all of it"},
      {"more than was asked for", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK",
       "ok"},
      {"an end after the answer",
       "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", "ok"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const RawServer server([&](RawSocket socket, int) {
      static_cast<void>(socket.read_until("\r\n\r\n"));
      socket.send(row.text);
      socket.end_output();
      static_cast<void>(socket.read_all());
    });
    EventLoop loop;
    HttpClient client(loop, options_for(server));
    for (int i = 0; i < 2; ++i) {
      const Answer got = call(loop, client, {.target = "/x"});
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_EQ(got->body, row.body);
    }
  }
}

TEST(HttpClientPeer, AnAnswerBeforeTheWholeRequestIsTaken) {
  const RawServer server([&](RawSocket socket, int) {
    static_cast<void>(socket.read_until("\r\n\r\n"));
    socket.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig");
    socket.end_output();
    static_cast<void>(socket.read_all());
  });
  EventLoop loop;
  HttpClient client(loop, options_for(server));
  std::string body;
  body.resize(50'000'000, 'x');
  const Answer got = call(loop, client, {.method = "POST", .body = std::move(body)});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->status, 413);
  EXPECT_EQ(got->body, "big");
}

// The first connection answers once, and closes when it receives a second request.
void answer_once(RawSocket& socket) {
  static_cast<void>(socket.read_until("\r\n\r\n"));
  socket.send(kOk);
  static_cast<void>(socket.read_until("\r\n\r\n"));
}

void answer_always(RawSocket& socket) {
  while (!socket.read_until("\r\n\r\n").empty()) socket.send(kOk);
}

TEST(HttpClientPeer, ARequestOnAConnectionThatWasClosedMeanwhileIsSentOnceMore) {
  for (const bool with_reset : {false, true}) {
    const RawServer server([&](RawSocket socket, int number) {
      if (number != 0) {
        answer_always(socket);
        return;
      }
      answer_once(socket);
      if (with_reset) socket.reset();
    });
    EventLoop loop;
    HttpClient client(loop, options_for(server));
    EXPECT_TRUE(call(loop, client, {}));
    const Answer again = call(loop, client, {.method = "PUT"});
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->body, "ok");
  }
}

TEST(HttpClientPeer, OnlyOnce) {
  const RawServer server([&](RawSocket socket, int number) {
    if (number == 0) {
      answer_once(socket);
    } else {
      static_cast<void>(socket.read_until("\r\n\r\n"));
    }
  });
  EventLoop loop;
  HttpClient client(loop, options_for(server));
  EXPECT_TRUE(call(loop, client, {}));
  const Answer again = call(loop, client, {});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message, "127.0.0.1:" + std::to_string(server.port()) +
                                       " closed the connection before it answered (GET /)");
  EXPECT_TRUE(again.error().sent);
}

TEST(HttpClientPeer, APostThatMayHaveBeenSeenIsNotRepeated) {
  int connections = 0;
  {
    const RawServer server([&](RawSocket socket, int number) {
      connections = number + 1;
      answer_once(socket);
    });
    EventLoop loop;
    HttpClient client(loop, options_for(server));
    EXPECT_TRUE(call(loop, client, {}));
    const Answer again = call(loop, client, {.method = "POST"});
    ASSERT_FALSE(again);
    EXPECT_TRUE(again.error().sent);
  }
  EXPECT_EQ(connections, 1);
}

TEST(HttpClientPeer, AConnectionThatWasClosedWhileIdleIsNotUsed) {
  const RawServer server([&](RawSocket socket, int) {
    static_cast<void>(socket.read_until("\r\n\r\n"));
    socket.send(kOk);
  });
  EventLoop loop;
  HttpClient client(loop, options_for(server));
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(call(loop, client, {.method = "GET"}));
    testing::run_for(loop, milliseconds{20});
  }
}

TEST(HttpClientPeer, ServerGoneForGoodFailsTheRetryToo) {
  std::optional<RawServer> server;
  server.emplace([&](RawSocket socket, int number) {
    if (number == 0) answer_once(socket);
  });
  EventLoop loop;
  HttpClient client(loop, options_for(*server));
  EXPECT_TRUE(call(loop, client, {}));
  const std::string where = "127.0.0.1:" + std::to_string(server->port());
  std::optional<Answer> got;
  client.send({}, seconds{60}, [&](Answer answer) { got = std::move(answer); });
  server.reset();
  ASSERT_TRUE(run_until(loop, [&] { return got.has_value(); }));
  ASSERT_FALSE(*got);
  EXPECT_TRUE(got->error().message.find(where) != std::string::npos) << got->error().message;
}

// A server that reads nothing for a while: the request stays in the send buffer of this machine.
struct SlowReader {
  SlowReader()
      : server(
            [this](RawSocket socket, int) {
              go_on.get_future().wait();
              got.set_value(socket.read_all());
            },
            4096) {}
  static HttpRequest request() {
    return {.method = "POST", .target = "/x", .body = std::string(40'000, 'b') + "the end"};
  }
  // What the server receives when it finally reads.
  bool read_whole() {
    go_on.set_value();
    return got.get_future().get().ends_with("the end");
  }

  std::promise<void> go_on;
  std::promise<std::string> got;
  RawServer server;
};

TEST(HttpClientPeer, ARequestThatWasGivenUpIsNotDeliveredLater) {
  SlowReader slow;
  EventLoop loop;
  HttpClient client(loop, options_for(slow.server));
  std::optional<Answer> got;
  client.send(SlowReader::request(), milliseconds{200},
              [&](Answer answer) { got = std::move(answer); });
  ASSERT_TRUE(run_until(loop, [&] { return got.has_value(); }));
  ASSERT_FALSE(*got);
  EXPECT_TRUE(got->error().timed_out);
  EXPECT_TRUE(got->error().sent);
  EXPECT_FALSE(slow.read_whole());
}

TEST(HttpClientPeer, ARequestOfAClientThatGoesAwayIsNotDeliveredLater) {
  SlowReader slow;
  EventLoop loop;
  std::optional<HttpClient> client(std::in_place, loop, options_for(slow.server));
  client->send(SlowReader::request(), seconds{60}, [](const Answer&) {});
  testing::run_for(loop, milliseconds{100});
  client.reset();
  EXPECT_FALSE(slow.read_whole());
}

// Simulates a stopped process: only the kernel can drop the request.
TEST(HttpClientPeer, ARequestOfAProcessThatStandsStillIsNotDeliveredAfterItsTime) {
  SlowReader slow;
  EventLoop loop;
  HttpClient client(loop, options_for(slow.server));
  client.send(SlowReader::request(), milliseconds{300}, [](const Answer&) {});
  testing::run_for(loop, milliseconds{50});
  std::this_thread::sleep_for(milliseconds{2000});
  EXPECT_FALSE(slow.read_whole());
}

TEST(HttpClientPeer, DataOnAnIdleConnectionClosesIt) {
  const RawServer server([&](RawSocket socket, int) {
    static_cast<void>(socket.read_until("\r\n\r\n"));
    socket.send(kOk);
    socket.send("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nsmuggle");
    static_cast<void>(socket.read_all());
  });
  EventLoop loop;
  HttpClient client(loop, options_for(server));
  for (int i = 0; i < 5; ++i) {
    const Answer got = call(loop, client, {.method = "GET"});
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->body, "ok");
    testing::run_for(loop, milliseconds{10});
  }
}

}  // namespace
}  // namespace stowage::net
