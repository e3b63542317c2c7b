// The client side against servers that send anything, byte by byte.
#include "grpc/client_session.h"

#include <gtest/gtest.h>

#include "grpc/testing/frames.h"

namespace stowage::grpc {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): frames

constexpr ClientSessionOptions kOptions{
    .header_bytes_max = 4096, .buffered_bytes_max = 20'000, .streams_max = 8};

CallRequest ask() {
  return {.method = "/t.S/M", .request = "question", .response_bytes_max = 10'000};
}

std::string drain(ClientSession& session) {
  std::string all;
  for (std::string bytes = session.output(1 << 16); !bytes.empty();
       bytes = session.output(1 << 16)) {
    all += bytes;
  }
  return all;
}

// The events of one call after the server has sent these bytes, in pieces of this size.
std::vector<CallEvent> after(const std::string& bytes, std::size_t piece,
                             CallRequest asked = ask()) {
  ClientSession session(kOptions);
  static_cast<void>(session.begin(std::move(asked)));
  static_cast<void>(drain(session));
  std::vector<CallEvent> events;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    session.receive(std::string_view(bytes).substr(at, piece));
    static_cast<void>(drain(session));
    for (CallEvent& event : session.take_events()) events.push_back(std::move(event));
  }
  EXPECT_TRUE(session.calls() != 0 || session.buffered_bytes() == 0);
  return events;
}

TEST(ClientSession, AsksAsGrpcDoes) {
  ClientSession session(kOptions);
  CallRequest asked = ask();
  asked.timeout = std::chrono::seconds{10};
  EXPECT_EQ(session.begin(asked), 1);
  EXPECT_EQ(session.calls(), 1U);
  const std::string bytes = drain(session);
  EXPECT_TRUE(bytes.starts_with(kMagic));
  // The request is the last frame and ends the stream.
  EXPECT_TRUE(bytes.ends_with(data(1, message("question"), kEndStream)));
}

TEST(ClientSession, AnswersAreUnderstood) {
  struct Row {
    const char* name;
    std::string bytes;
    CallStatus status;
    std::string content;
  };
  const Fields head = answer_fields();
  Fields only = head;
  only.insert(only.end(), {{"grpc-status", "12"}, {"grpc-message", "unknown%20service %E2%82%AC"}});
  Fields more = head;
  more.emplace_back("grpc-encoding", "identity");
  more.emplace_back("x-anything", std::string(1000, 'y'));
  const Row rows[] = {
      {"plain", answer(1, "yes"), {Code::ok, "", true}, "yes"},
      {"an empty answer", answer(1, ""), {Code::ok, "", true}, ""},
      {"headers that nobody asked for",
       headers(1, more) + data(1, message("yes")) + good_end(1),
       {Code::ok, "", true},
       "yes"},
      {"hints first",
       headers(1, {{":status", "103"}}) + answer(1, "yes"),
       {Code::ok, "", true},
       "yes"},
      {"a message in many frames",
       headers(1, head) + data(1, message("yes").substr(0, 2)) + data(1, "") +
           data(1, message("yes").substr(2)) + good_end(1),
       {Code::ok, "", true},
       "yes"},
      {"a reset without an error after the end",
       answer(1, "yes") + reset(1, 0),
       {Code::ok, "", true},
       "yes"},
      {"a status alone",
       headers(1, only, kEndStream),
       {Code::unimplemented, "unknown service \xe2\x82\xac", true},
       ""},
      {"a bad status after an answer",
       headers(1, head) + data(1, message("yes")) +
           headers(1, {{"grpc-status", "8"}, {"grpc-message", "slow down"}}, kEndStream),
       {Code::resource_exhausted, "slow down", true},
       ""},
      {"a status that nobody knows",
       headers(1, head) + headers(1, {{"grpc-status", "77"}}, kEndStream),
       {Code::unknown, "", true},
       ""},
      {"a bad status with another status of HTTP",
       headers(1, {{":status", "503"}, {"grpc-status", "14"}, {"grpc-message", "down"}},
               kEndStream),
       {Code::unavailable, "down", true},
       ""},
  };
  for (const Row& row : rows) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1} << 20U}) {
      SCOPED_TRACE(row.name + std::string(" in pieces of ") + std::to_string(piece));
      const auto events = after(settings() + row.bytes, piece);
      ASSERT_EQ(events.size(), 1U);
      EXPECT_EQ(events[0].end, row.status) << to_text(events[0].end.value_or(CallStatus{}));
      EXPECT_EQ(events[0].message.value_or(""), row.content);
      EXPECT_EQ(events[0].message.has_value(), row.status.ok());
    }
  }
}

TEST(ClientSession, AnswersThatMakeNoSenseAreErrors) {
  struct Row {
    const char* name;
    std::string bytes;
    Code code;
    const char* message;
  };
  const Fields head = answer_fields();
  const std::string begun = headers(1, head);
  const std::string good = begun + data(1, message("yes"));
  const Row rows[] = {
      {"no status", good + data(1, "", kEndStream), Code::internal,
       "the answer ended without a status"},
      {"an end at once", headers(1, head, kEndStream), Code::internal,
       "the answer ended without a status"},
      {"trailers without a status", good + headers(1, {{"x", "y"}}, kEndStream), Code::internal,
       "the answer ended without a status"},
      {"two statuses", good + headers(1, {{"grpc-status", "0"}, {"grpc-status", "13"}}, kEndStream),
       Code::internal, "the answer has several statuses"},
      {"a good status and no answer", begun + good_end(1), Code::internal,
       "the status is OK, but the answer is missing"},
      {"half an answer", begun + data(1, message("yes").substr(0, 6)) + good_end(1), Code::internal,
       "the answer is cut off"},
      {"an answer and half another one", good + data(1, std::string(1, '\0')) + good_end(1),
       Code::internal, "there are several answers where one was expected"},
      {"two answers", good + data(1, message("no")) + good_end(1), Code::internal,
       "there are several answers where one was expected"},
      {"a compressed answer", begun + data(1, message("yes", '\1')) + good_end(1), Code::internal,
       "the answer is compressed, which was not asked for"},
      {"a long answer", begun + data(1, message(std::string(10'001, 'x'))),
       Code::resource_exhausted, "an answer of 10001 bytes is longer than 10000"},
      {"an answer of four gigabytes", begun + data(1, std::string("\0\xff\xff\xff\xff", 5)),
       Code::resource_exhausted, "an answer of 4294967295 bytes is longer than 10000"},
      {"a page of text", headers(1, {{":status", "200"}, {"content-type", "text/html"}}),
       Code::unknown, "the answer is not gRPC"},
      {"no type", headers(1, {{":status", "200"}}), Code::unknown, "the answer is not gRPC"},
      {"not found", headers(1, {{":status", "404"}}, kEndStream), Code::unimplemented,
       "the answer has the HTTP status 404"},
      {"bad gateway", headers(1, {{":status", "502"}}) + data(1, "oops"), Code::unavailable,
       "the answer has the HTTP status 502"},
      {"a large header", headers(1, {{":status", "200"}, {"x", std::string(5000, 'y')}}),
       Code::resource_exhausted, "the headers of the answer are too large"},
      {"large trailers", good + headers(1, {{"x", std::string(5000, 'y')}}, kEndStream),
       Code::resource_exhausted, "the headers of the answer are too large"},
      {"a reset", reset(1, 8), Code::cancelled, "the call was reset: CANCEL"},
      {"a reset in the middle", begun + reset(1, 2), Code::internal,
       "the call was reset: INTERNAL_ERROR"},
      {"a refusal", reset(1, 7), Code::unavailable, "the call was reset: REFUSED_STREAM"},
      {"a request to be calm", reset(1, 11), Code::resource_exhausted,
       "the call was reset: ENHANCE_YOUR_CALM"},
      {"no :status", headers(1, {{"content-type", "application/grpc"}}), Code::internal,
       "the call was reset: PROTOCOL_ERROR"},
      {"upper case", headers(1, {{":status", "200"}, {"Content-Type", "application/grpc"}}),
       Code::internal, "the call was reset: PROTOCOL_ERROR"},
  };
  for (const Row& row : rows) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{1} << 20U}) {
      SCOPED_TRACE(row.name + std::string(" in pieces of ") + std::to_string(piece));
      const auto events = after(settings() + row.bytes, piece);
      ASSERT_EQ(events.size(), 1U);
      ASSERT_TRUE(events[0].end);
      EXPECT_EQ(events[0].end->code, row.code) << to_text(*events[0].end);
      EXPECT_EQ(events[0].end->message.substr(0, std::string_view(row.message).size()),
                row.message);
      EXPECT_FALSE(events[0].end->by_peer);
      EXPECT_FALSE(events[0].message);
    }
  }
}

TEST(ClientSession, PeersThatDoNotSpeakHttp2EndTheConnection) {
  std::string flood = settings();
  for (int i = 0; i < 2000; ++i) flood += ping();
  std::string endless = settings() + frame({kHeaders, 0, 1}, block(answer_fields()));
  for (int i = 0; i < 100; ++i) endless += frame({kContinuation, 0, 1}, block({{"x", "y"}}));
  std::string table = settings();  // headers that refer to a missing table entry
  table += frame({kHeaders, kEndHeaders, 1}, "\xff\xff\xff\x7f");
  const std::pair<const char*, std::string> rows[] = {
      {"garbage", std::string(1000, 'x')},
      {"zeros", std::string(1000, '\0')},
      {"HTTP/1.1", "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"},
      {"TLS", std::string("\x15\x03\x01\x00\x02\x02\x46", 7) + std::string(100, 'x')},
      {"an answer before the settings", answer(1, "yes")},
      {"a frame that is too large", settings() + number(16'777'215, 3) + std::string(10, 'x')},
      {"endless continuations", endless},
      {"headers that cannot be read", table},
      {"a continuation of nothing", settings() + frame({kContinuation, kEndHeaders, 1}, "")},
      {"data of no stream", settings() + data(0, "x")},
      {"an answer to what was not asked", settings() + answer(5, "x")},
      {"a stream that the server opens", settings() + answer(2, "x")},
      {"windows beyond all bounds", settings() + frame({kWindow, 0, 0}, number(0x7fffffff, 4))},
      {"settings of a stream", frame({kSettings, 0, 1}, {})},
      {"settings with half an entry", frame({kSettings, 0, 0}, "abc")},
  };
  for (const auto& [name, bytes] : rows) {
    SCOPED_TRACE(name);
    ClientSession session(kOptions);
    static_cast<void>(session.begin(ask()));
    static_cast<void>(drain(session));
    session.receive(bytes);
    static_cast<void>(drain(session));
    EXPECT_TRUE(session.over());
    EXPECT_NE(session.why().find("it violates HTTP/2: "), std::string::npos) << session.why();
    EXPECT_LT(session.why().size(), 300U);
    EXPECT_FALSE(session.takes_calls());
    session.receive("more");  // has no effect
  }
  // Pings are answered, but not without limit if the peer does not read.
  ClientSession session(kOptions);
  static_cast<void>(session.begin(ask()));
  session.receive(flood);
  EXPECT_TRUE(session.over());
}

TEST(ClientSession, PushedStreamsAreRefused) {
  ClientSession session(kOptions);
  static_cast<void>(session.begin(ask()));
  static_cast<void>(drain(session));
  std::string bytes = settings();
  for (std::uint32_t promised = 2; promised < 400; promised += 2) {
    bytes += frame({kPush, kEndHeaders, 1}, number(promised, 4) + block(request_fields()));
  }
  session.receive(bytes);
  static_cast<void>(drain(session));
  EXPECT_LE(session.take_events().size(), 1U);
  EXPECT_EQ(session.buffered_bytes(), 0U);
}

TEST(ClientSession, AFarewellEndsCallsThatWereNotBegun) {
  ClientSession session(kOptions);
  const StreamId first = session.begin(ask());
  const StreamId second = session.begin(ask());
  static_cast<void>(drain(session));
  session.receive(settings() + goaway(static_cast<std::uint32_t>(first), 0, "restarting"));
  EXPECT_FALSE(session.takes_calls());
  const auto refused = session.take_events();
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].call, second);
  EXPECT_TRUE(refused[0].untouched);
  EXPECT_EQ(refused[0].end, (CallStatus{Code::unavailable,
                                        "the call was reset: REFUSED_STREAM; it sent GOAWAY: "
                                        "NO_ERROR restarting"}));
  EXPECT_FALSE(session.over());
  session.receive(answer(1, "yes"));
  const auto answered = session.take_events();
  ASSERT_EQ(answered.size(), 1U);
  EXPECT_EQ(answered[0].message, "yes");
  static_cast<void>(drain(session));
  EXPECT_TRUE(session.over());
  EXPECT_EQ(session.why(), "it sent GOAWAY: NO_ERROR restarting");
}

TEST(ClientSession, ManyAnswersComeOneByOne) {
  CallRequest asked = ask();
  asked.answer = CallRequest::Answer::many;
  const std::string bytes = settings() + headers(1, answer_fields()) + data(1, message("a")) +
                            data(1, message("") + message("b")) + good_end(1);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
    const auto events = after(bytes, piece, asked);
    ASSERT_EQ(events.size(), 4U);
    EXPECT_EQ(events[0].message, "a");
    EXPECT_EQ(events[1].message, "");
    EXPECT_EQ(events[2].message, "b");
    EXPECT_FALSE(events[2].end);
    EXPECT_EQ(events[3].end, (CallStatus{Code::ok, "", true}));
    EXPECT_FALSE(events[3].message);
  }
}

TEST(ClientSession, ACancelledCallIsResetAndForgotten) {
  ClientSession session(kOptions);
  const StreamId call = session.begin(ask());
  static_cast<void>(drain(session));
  session.receive(settings());
  static_cast<void>(drain(session));
  session.cancel(call);
  EXPECT_EQ(drain(session), reset(1, 8));
  session.receive(answer(1, "too late"));
  EXPECT_TRUE(session.take_events().empty());
  session.cancel(call);
  EXPECT_EQ(session.calls(), 0U);
  EXPECT_TRUE(session.takes_calls());
}

TEST(ClientSession, AServerThatTakesNoStreamsFillsTheConnection) {
  ClientSession session(kOptions);
  session.receive(frame({kSettings, 0, 0}, number(3, 2) + number(0, 4)));  // no concurrent streams
                                                                           // allowed
  for (std::uint32_t i = 0; i < kOptions.streams_max; ++i) {
    ASSERT_TRUE(session.takes_calls());
    const StreamId call = session.begin(ask());
    static_cast<void>(drain(session));
    session.cancel(call);
    static_cast<void>(drain(session));
  }
  EXPECT_FALSE(session.takes_calls());
  EXPECT_TRUE(session.take_events().empty());
}

TEST(ClientSession, AnswersTogetherAreBounded) {
  ClientSession session(kOptions);
  for (int i = 0; i < 3; ++i) static_cast<void>(session.begin(ask()));
  static_cast<void>(drain(session));
  session.receive(settings());
  const std::string large = message(std::string(9000, 'x'));
  for (const std::uint32_t stream : {1U, 3U, 5U}) {
    session.receive(headers(stream, answer_fields()) + data(stream, large));
  }
  const auto events = session.take_events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].call, 5);
  EXPECT_EQ(events[0].end->code, Code::resource_exhausted);
  EXPECT_EQ(session.buffered_bytes(), 18'000U);
  session.receive(good_end(1) + good_end(3));
  EXPECT_EQ(session.buffered_bytes(), 0U);
  EXPECT_EQ(session.take_events().size(), 2U);
}

}  // namespace
}  // namespace stowage::grpc
