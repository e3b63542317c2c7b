// The server side against clients that send anything, byte by byte.
#include "grpc/server_session.h"

#include <gtest/gtest.h>

#include "grpc/testing/frames.h"

namespace stowage::grpc {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): frames
using Kind = ServerEvent::Kind;

constexpr ServerSessionOptions kOptions{.header_bytes_max = 4096,
                                        .request_bytes_max = 10'000,
                                        .buffered_bytes_max = 20'000,
                                        .streams_max = 8};

std::string drain(ServerSession& session) {
  std::string all;
  for (std::string bytes = session.output(1 << 16); !bytes.empty();
       bytes = session.output(1 << 16)) {
    all += bytes;
  }
  return all;
}

struct Came {
  std::vector<ServerEvent> events;
  std::string sent;
  bool over = false;
  std::string why;
  std::size_t buffered = 0;
};

Came after(const std::string& bytes, std::size_t piece) {
  ServerSession session(kOptions);
  Came came;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    session.receive(std::string_view(bytes).substr(at, piece));
    came.sent += drain(session);
    for (ServerEvent& event : session.take_events()) came.events.push_back(std::move(event));
  }
  came.over = session.over();
  came.why = session.why();
  came.buffered = session.buffered_bytes();
  return came;
}

TEST(ServerSession, TakesRequestsWhateverWayTheyArrive) {
  Fields fields = request_fields();
  fields.emplace_back("grpc-timeout", "250m");
  const std::string bytes = hello() + headers(1, fields) +
                            data(1, message("question").substr(0, 3)) + data(1, "") +
                            data(1, message("question").substr(3)) + data(1, "", kEndStream);
  for (std::size_t piece : {std::size_t{1}, std::size_t{11}, bytes.size()}) {
    const Came came = after(bytes, piece);
    ASSERT_EQ(came.events.size(), 2U);
    EXPECT_EQ(came.events[0].kind, Kind::begun);
    EXPECT_EQ(came.events[0].method, "/t.S/M");
    EXPECT_EQ(came.events[0].timeout, std::chrono::milliseconds{250});
    EXPECT_EQ(came.events[1].kind, Kind::request);
    EXPECT_EQ(came.events[1].message, "question");
    EXPECT_FALSE(came.over);
  }
}

TEST(ServerSession, BadRequestsAreAnsweredWithAStatus) {
  struct Row {
    const char* name;
    std::string bytes;
    std::size_t events;
  };
  const auto with = [](const std::string& name, const std::string& value) {
    Fields fields = request_fields();
    for (auto& [key, old] : fields) {
      if (key == name) old = value;
    }
    return fields;
  };
  Fields odd = request_fields();
  odd.emplace_back("grpc-timeout", "soon");
  const std::string begun = headers(1, request_fields());
  const Row rows[] = {
      {"another verb", headers(1, with(":method", "GET"), kEndStream), 0},
      {"another type", headers(1, with("content-type", "text/html"), kEndStream), 0},
      {"an odd timeout", headers(1, odd), 0},
      {"no message", headers(1, request_fields(), kEndStream), 2},
      {"half a message", begun + data(1, message("x").substr(0, 3), kEndStream), 2},
      {"two messages", begun + data(1, message("x") + message("y"), kEndStream), 2},
      {"a compressed message", begun + data(1, message("x", '\1'), kEndStream), 2},
      {"a long message", begun + data(1, message(std::string(10'001, 'x'))), 2},
      {"a message of four gigabytes", begun + data(1, std::string("\0\xff\xff\xff\xff", 5)), 2},
  };
  for (const Row& row : rows) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{1} << 20U}) {
      SCOPED_TRACE(row.name + std::string(" in pieces of ") + std::to_string(piece));
      const Came came = after(hello() + row.bytes, piece);
      EXPECT_FALSE(came.over) << came.why;
      EXPECT_EQ(came.buffered, 0U);
      ASSERT_EQ(came.events.size(), row.events);
      if (row.events == 2) {
        EXPECT_EQ(came.events[0].kind, Kind::begun);
        EXPECT_EQ(came.events[1].kind, Kind::closed);
      }
      // Headers that end stream 1 were sent.
      EXPECT_NE(came.sent.find(std::string("\1\5\0\0\0\1", 6)), std::string::npos);
    }
  }
}

TEST(ServerSession, CallsThatAreResetAreClosed) {
  const std::string begun = headers(1, request_fields());
  Fields large = request_fields();
  large.emplace_back("x", std::string(5000, 'y'));
  Fields pathless = request_fields();
  pathless.erase(pathless.begin() + 2);
  const std::pair<std::string, std::vector<Kind>> rows[] = {
      {begun + reset(1, 8), {Kind::begun, Kind::closed}},
      {request(1, "x") + reset(1, 8), {Kind::begun, Kind::request, Kind::closed}},
      {begun + data(1, message(std::string(500, 'x')).substr(0, 100)) + reset(1, 8),
       {Kind::begun, Kind::closed}},
      {headers(1, large), {}},
      {headers(1, pathless), {}},
      {begun + headers(1, large, kEndStream), {Kind::begun, Kind::closed}},
  };
  for (const auto& [bytes, kinds] : rows) {
    const Came came = after(hello() + bytes, 1 << 20);
    EXPECT_FALSE(came.over) << came.why;
    EXPECT_EQ(came.buffered, 0U);
    std::vector<Kind> found;
    for (const ServerEvent& event : came.events) found.push_back(event.kind);
    EXPECT_EQ(found, kinds);
  }
}

TEST(ServerSession, PeersThatDoNotSpeakHttp2EndTheConnection) {
  std::string endless = hello() + frame({kHeaders, 0, 1}, block(request_fields()));
  for (int i = 0; i < 100; ++i) endless += frame({kContinuation, 0, 1}, block({{"x", "y"}}));
  std::string resets = hello();  // open, reset, open, reset
  for (std::uint32_t stream = 1; stream < 4000; stream += 2) {
    resets += headers(stream, request_fields()) + reset(stream, 8);
  }
  std::string many = hello();
  many += frame({kSettings, kAck, 0}, {});
  for (std::uint32_t stream = 1; stream < 40; stream += 2) {
    many += headers(stream, request_fields());
  }
  const std::pair<const char*, std::string> rows[] = {
      {"garbage", std::string(1000, 'x')},
      {"HTTP/1.1", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"},
      {"only the magic and then garbage", std::string(kMagic) + std::string(100, 'x')},
      {"no settings", std::string(kMagic) + request(1, "x")},
      {"endless continuations", endless},
      {"endless resets", resets},
      {"more streams than allowed", many},
      {"an even stream", hello() + request(2, "x")},
      {"a stream that is used twice", hello() + request(3, "x") + request(3, "x")},
      {"a frame that is too large", hello() + number(16'777'215, 3) + std::string(10, 'x')},
      {"a promise", hello() + frame({kPush, kEndHeaders, 1}, number(2, 4))},
  };
  for (const auto& [name, bytes] : rows) {
    SCOPED_TRACE(name);
    const Came came = after(bytes, 1 << 20);
    EXPECT_TRUE(came.over);
    EXPECT_FALSE(came.why.empty());
    EXPECT_LT(came.why.size(), 300U);
  }
}

TEST(ServerSession, FloodsThatAreNotReadEndTheConnection) {
  std::string pings;
  std::string odd;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    pings += ping();
    odd += headers(2 * i + 1, {{":method", "GET"}}, kEndStream);  // each is reset
  }
  for (const std::string& flood : {pings, odd}) {
    ServerSession session(kOptions);
    session.receive(hello());
    for (std::size_t at = 0; at < flood.size() && !session.over(); at += 1000) {
      session.receive(std::string_view(flood).substr(at, 1000));
      static_cast<void>(session.take_events());
    }
    EXPECT_TRUE(session.over());
  }
}

TEST(ServerSession, AnswersGoOutAndTheirRestIsBacklog) {
  ServerSession session(kOptions);
  session.receive(hello() + request(1, "x"));
  static_cast<void>(session.take_events());
  session.write(1, std::string(200'000, 'y'));
  EXPECT_EQ(session.backlog(1), 200'005U);
  const std::string sent = drain(session);
  // The peer has allowed 65535 bytes, and no more.
  EXPECT_EQ(session.backlog(1), 200'005U - 65'535U);
  EXPECT_GT(sent.size(), 65'535U);
  session.receive(frame({kWindow, 0, 0}, number(1'000'000, 4)) +
                  frame({kWindow, 0, 1}, number(1'000'000, 4)));
  session.end(1, {});
  EXPECT_GT(drain(session).size(), 200'000U - 65'535U);
  EXPECT_EQ(session.backlog(1), 0U);
  EXPECT_EQ(session.streams(), 0U);
  session.write(1, "nobody listens");
  session.end(1, {});
  EXPECT_EQ(drain(session), "");
}

TEST(ServerSession, AnAnswerBeforeTheWholeRequestEndsTheStream) {
  ServerSession session(kOptions);
  session.receive(hello() + headers(1, request_fields()));
  static_cast<void>(session.take_events());
  static_cast<void>(drain(session));
  session.end(1, {Code::unimplemented, "no"});
  EXPECT_TRUE(drain(session).ends_with(reset(1, 0)));
  EXPECT_EQ(session.streams(), 0U);
  session.receive(data(1, message("late"), kEndStream));
  EXPECT_FALSE(session.over());
  EXPECT_TRUE(session.take_events().empty());
}

TEST(ServerSession, RequestsTogetherAreBounded) {
  ServerSession session(kOptions);
  session.receive(hello());
  const std::string part = message(std::string(9000, 'x'));
  for (const std::uint32_t stream : {1U, 3U, 5U}) {
    session.receive(headers(stream, request_fields()) + data(stream, part));
  }
  EXPECT_EQ(session.buffered_bytes(), 18'000U);
  const auto events = session.take_events();
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[3].kind, Kind::closed);
  EXPECT_EQ(events[3].call, 5);
  session.receive(reset(1, 8) + data(3, "", kEndStream));
  EXPECT_EQ(session.buffered_bytes(), 0U);
}

}  // namespace
}  // namespace stowage::grpc
