#include "net/message_parser.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.h"

namespace stowage::net {
namespace {

constexpr MessageLimits kSmall{.header_bytes_max = 512, .body_bytes_max = 100};

// Feeds `text` in steps of `step` bytes, as a connection would: bytes not taken are passed again.
template <typename Parser>
std::size_t feed(Parser& parser, std::string_view text, std::size_t step) {
  std::size_t taken = 0;
  for (std::size_t end = 0; end < text.size();) {
    end = std::min(text.size(), end + step);
    taken += parser.put(text.substr(taken, end - taken));
    if (parser.done() || parser.fault().kind != ParseFault::Kind::none) break;
  }
  return taken;
}

std::string streamed(ResponseParser& parser, std::string_view text, std::size_t step) {
  std::string body;
  std::size_t taken = 0;
  for (std::size_t end = 0; end < text.size() && !parser.done();) {
    end = std::min(text.size(), end + step);
    taken += parser.put(text.substr(taken, end - taken));
    for (const std::string_view piece : parser.pieces()) body += piece;
    if (parser.fault().kind != ParseFault::Kind::none) break;
  }
  return body;
}

TEST(RequestParser, ReadsARequestHoweverItIsCut) {
  const std::string text =
      "POST /a?b=c HTTP/1.1\r\nHost: x\r\nX-Y:  two words \r\nContent-Length: 5\r\n\r\nhelloGET";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    RequestParser parser({});
    EXPECT_EQ(feed(parser, text, step), text.size() - 3) << step;
    ASSERT_TRUE(parser.done()) << step;
    EXPECT_EQ(parser.request().method, "POST");
    EXPECT_EQ(parser.request().target, "/a?b=c");
    EXPECT_EQ(find_header(parser.request().headers, "x-y"), "two words");
    EXPECT_EQ(parser.request().body, "hello");
    EXPECT_TRUE(parser.keep_alive());
    EXPECT_FALSE(parser.http_1_0());
  }
}

TEST(RequestParser, ReadsChunksTrailersAndTheNextMessage) {
  const std::string text =
      "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5;ext=1\r\nhello\r\n6\r\n world\r\n0\r\nTrailer: x\r\nHost: evil\r\n\r\n";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    RequestParser parser({});
    for (int round = 0; round < 2; ++round) {
      EXPECT_EQ(feed(parser, text, step), text.size());
      ASSERT_TRUE(parser.done()) << step << parser.fault().message;
      EXPECT_EQ(parser.request().body, "hello world");
      EXPECT_EQ(parser.request().headers.size(), 2U) << "trailers are dropped";
      parser.reset();
    }
  }
}

TEST(RequestParser, AnEmptyChunkedBodyMayComeByteByByte) {
  const std::string text =
      "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    RequestParser parser({});
    feed(parser, text, step);
    EXPECT_TRUE(parser.done()) << step;
  }
}

struct BadMessage {
  const char* name;
  std::string text;
  ParseFault::Kind kind;
};

TEST(RequestParser, FaultsAreFoundHoweverTheBytesAreCut) {
  using Kind = ParseFault::Kind;
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\n";
  const std::string chunked = head + "Transfer-Encoding: chunked\r\n\r\n";
  std::string many;
  for (int i = 0; i < 200; ++i) many += "A: b\r\n";
  const BadMessage rows[] = {
      {"garbage", "\x16\x03\x01\x02 hello\r\n\r\n", Kind::malformed},
      {"no version", "GET /\r\n\r\n", Kind::malformed},
      {"a version of the future", "GET / HTTP/2.0\r\nHost: x\r\n\r\n", Kind::malformed},
      {"no host", "GET / HTTP/1.1\r\n\r\n", Kind::malformed},
      {"two hosts", "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", Kind::malformed},
      {"a blank in a name", head + "Bad name: x\r\n\r\n", Kind::malformed},
      {"a blank before the colon", head + "Name : x\r\n\r\n", Kind::malformed},
      {"a control character in a value", head + "Name: a\x01z\r\n\r\n", Kind::malformed},
      {"chunks in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       Kind::malformed},
      {"a chunk size that is no number", chunked + "xyz\r\n", Kind::malformed},
      {"a chunk size too large for any number", chunked + "fffffffffffffffff\r\n", Kind::malformed},
      {"a chunk longer than it says", chunked + "2\r\nabcd\r\n0\r\n\r\n", Kind::malformed},
      {"a body that is too long", head + "Content-Length: 101\r\n\r\n", Kind::body_too_large},
      {"a body of 2^63 bytes", head + "Content-Length: 9223372036854775808\r\n\r\n",
       Kind::body_too_large},
      {"a chunk that is said to be too long", chunked + "65\r\n", Kind::body_too_large},
      {"chunks that are too long",
       chunked + "60\r\n" + std::string(96, 'x') + "\r\n60\r\n" + std::string(96, 'x'),
       Kind::body_too_large},
      {"a target without end", "GET /" + std::string(2000, 'a'), Kind::header_too_large},
      {"a header without end", head + "Name: " + std::string(2000, 'a'), Kind::header_too_large},
      {"headers without end", head + many, Kind::header_too_large},
      {"a chunk extension without end", chunked + "1;" + std::string(2000, 'a'),
       Kind::header_too_large},
      {"trailers without end", chunked + "0\r\n" + many, Kind::header_too_large},
  };
  for (const BadMessage& row : rows) {
    for (const std::size_t step : {1U, 2U, 6U, 7U, 100000U}) {
      RequestParser parser(kSmall);
      feed(parser, row.text, step);
      EXPECT_EQ(parser.fault().kind, row.kind)
          << row.name << " in steps of " << step << ": " << parser.fault().message;
      EXPECT_FALSE(parser.done());
      EXPECT_FALSE(parser.fault().message.empty());
    }
  }
}

// Implementations disagree on where such a body ends.
TEST(RequestParser, LengthsAndCodingsThatAreNotPlainAreFaults) {
  using Kind = ParseFault::Kind;
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\n";
  const BadMessage rows[] = {
      {"two lengths", head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", Kind::malformed},
      {"the same length twice", head + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na",
       Kind::malformed},
      {"a list of equal lengths", head + "Content-Length: 1, 1\r\n\r\na", Kind::malformed},
      {"a list of lengths", head + "Content-Length: 1, 2\r\n\r\na", Kind::malformed},
      {"no length, twice", head + "Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
       Kind::malformed},
      {"a length that is no number", head + "Content-Length: 1x\r\n\r\n", Kind::malformed},
      {"a negative length", head + "Content-Length: -1\r\n\r\n", Kind::malformed},
      {"a length of 30 digits", head + "Content-Length: " + std::string(30, '9') + "\r\n\r\n",
       Kind::malformed},
      {"length and chunks",
       head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", Kind::malformed},
      {"chunks and length",
       head + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", Kind::malformed},
      {"an encoding that does not end", head + "Transfer-Encoding: gzip\r\n\r\n", Kind::malformed},
      {"a coding under the chunks", head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
       Kind::malformed},
      {"a coding in a header of its own",
       head + "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       Kind::malformed},
      {"chunks twice", head + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
       Kind::malformed},
      {"chunks in two headers",
       head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       Kind::malformed},
      {"a coding that is no word",
       head + "Transfer-Encoding: \x0b"
              "chunked\r\n\r\n0\r\n\r\n",
       Kind::malformed},
      {"chunked that is not last", head + "Transfer-Encoding: chunked, gzip\r\n\r\n",
       Kind::malformed},
  };
  for (const BadMessage& row : rows) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{7}, row.text.size()}) {
      RequestParser parser(kSmall);
      feed(parser, row.text, step);
      EXPECT_EQ(parser.fault().kind, row.kind) << row.name << ", in steps of " << step;
      EXPECT_FALSE(parser.done()) << row.name;
    }
  }
}

TEST(RequestParser, KnowsWhenTheConnectionIsKept) {
  struct Row {
    const char* text;
    bool keep;
  };
  const Row rows[] = {
      {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", true},
      {"GET / HTTP/1.1\r\nHost: x\r\nConnection: Close\r\n\r\n", false},
      {"GET / HTTP/1.0\r\n\r\n", false},
      {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true},
  };
  for (const Row& row : rows) {
    RequestParser parser({});
    feed(parser, row.text, 1000);
    ASSERT_TRUE(parser.done());
    EXPECT_EQ(parser.keep_alive(), row.keep) << row.text;
  }
}

TEST(ResponseParser, KnowsWhereEachKindOfBodyEnds) {
  struct Row {
    const char* name;
    const char* text;
    ResponseParser::Mode mode;
    bool done_before_eof;
    bool done_at_eof;
    const char* body;
  };
  using Mode = ResponseParser::Mode;
  const Row rows[] = {
      {"a length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", Mode::whole, true, true, "ab"},
      {"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
       Mode::whole, true, true, "ab"},
      {"nothing said", "HTTP/1.1 200 OK\r\n\r\nab", Mode::whole, false, true, "ab"},
      {"no reason", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", Mode::whole, true, true, ""},
      {"204", "HTTP/1.1 204 No Content\r\n\r\n", Mode::whole, true, true, ""},
      {"304 with a length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", Mode::whole,
       true, true, ""},
      {"HEAD with a length", "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", Mode::head, true, true,
       ""},
      {"a length that is cut off", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", Mode::whole,
       false, false, "ab"},
      {"chunks that are cut off",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", Mode::whole, false,
       false, "ab"},
      {"a head that is cut off", "HTTP/1.1 200 OK\r\nContent-", Mode::whole, false, false, ""},
      {"nothing at all", "", Mode::whole, false, false, ""},
  };
  for (const Row& row : rows) {
    for (const std::size_t step : {1U, 3U, 1000U}) {
      SCOPED_TRACE(row.name);
      ResponseParser parser({});
      parser.reset(row.mode);
      feed(parser, row.text, step);
      EXPECT_EQ(parser.fault().kind, ParseFault::Kind::none) << parser.fault().message;
      EXPECT_EQ(parser.done(), row.done_before_eof);
      EXPECT_EQ(parser.put_eof(), row.done_at_eof);
      EXPECT_EQ(parser.response().body, row.body);
    }
  }
}

TEST(ResponseParser, ACodingThatIsNotReadIsAFault) {
  for (const char* coding : {"gzip, chunked", "gzip", "chunked, chunked", "identity"}) {
    ResponseParser parser({});
    parser.reset(ResponseParser::Mode::streamed);
    feed(parser, std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: ") + coding + "\r\n\r\n", 7);
    EXPECT_EQ(parser.fault().kind, ParseFault::Kind::malformed) << coding;
  }
}

TEST(ResponseParser, AStreamHasNoLimitAndAnErrorHas) {
  std::string text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 100; ++i) text += "a\r\n0123456789\r\n";
  text += "0\r\n\r\n";
  ResponseParser parser(kSmall);
  parser.reset(ResponseParser::Mode::streamed);
  EXPECT_EQ(streamed(parser, text, 7).size(), 1000U);
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(parser.response().body, "");

  text.replace(0, 15, "HTTP/1.1 500 No");
  parser.reset(ResponseParser::Mode::streamed);
  EXPECT_EQ(streamed(parser, text, 7), "");
  EXPECT_EQ(parser.fault().kind, ParseFault::Kind::body_too_large);

  parser.reset(ResponseParser::Mode::streamed);
  feed(parser, "HTTP/1.1 410 Gone\r\nContent-Length: 4\r\n\r\nbody", 5);
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(parser.response().body, "body");
}

// Valid messages with some bytes changed, doubled or left out, truncated anywhere.
TEST(MessageParsers, SurviveBrokenMessages) {
  const std::string chunks = "5;e=\"q\\\"x\"\r\nhello\r\n1\r\n!\r\n0\r\nT: x\r\n\r\n";
  const std::string seeds[] = {
      "POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello",
      "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks,
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks,
      "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\nA: b\r\n c\r\n\r\nabc",
      "HTTP/1.0 200 OK\r\n\r\nuntil the end",
  };
  const char spice[] = "\r\n\0 :;0fF\x80\xFF\t,\"chunked";
  base::Rng rng(1);
  for (int round = 0; round < 20000; ++round) {
    std::string text = seeds[rng.below(std::size(seeds))];
    for (std::uint64_t changes = rng.below(4); changes != 0; --changes) {
      const std::size_t at = rng.below(text.size());
      switch (rng.below(3)) {
        case 0: text[at] = spice[rng.below(sizeof(spice))]; break;
        case 1: text.erase(at, 1 + rng.below(3)); break;
        default: text.insert(at, text.substr(rng.below(text.size()), 1 + rng.below(8)));
      }
      if (text.empty()) text = "x";
    }
    const std::size_t step = 1 + rng.below(text.size());
    RequestParser request(kSmall);
    EXPECT_LE(feed(request, text, step), text.size());
    EXPECT_LE(request.request().body.size(), kSmall.body_bytes_max);
    for (const auto mode : {ResponseParser::Mode::whole, ResponseParser::Mode::streamed}) {
      ResponseParser response(kSmall);
      response.reset(mode);
      EXPECT_LE(streamed(response, text, step).size(), text.size());
      response.put_eof();
    }
  }
}

RC_GTEST_PROP(MessageParsers, SurviveAnyBytes, (const std::string& text)) {
  RequestParser request(kSmall);
  feed(request, text, 3);
  ResponseParser response(kSmall);
  feed(response, "HTTP/1.1 " + text, 5);
  response.put_eof();
}

// The result must not depend on how a message is split.
RC_GTEST_PROP(MessageParsers, CuttingChangesNothing, ()) {
  const auto body = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  std::string text = "POST / HTTP/1.1\r\nHost: x\r\n";
  if (*rc::gen::arbitrary<bool>()) {
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  } else {
    text += "Transfer-Encoding: chunked\r\n\r\n";
    for (const char c : body) text += std::string("1\r\n") + c + "\r\n";
    text += "0\r\n\r\n";
  }
  RequestParser parser({});
  const auto step = *rc::gen::inRange<std::size_t>(1, text.size() + 1);
  RC_ASSERT(feed(parser, text, step) == text.size());
  RC_ASSERT(parser.done());
  RC_ASSERT(parser.request().body == body);
}

}  // namespace
}  // namespace stowage::net
