#include "grpc/header_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace stowage::grpc {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(HeaderText, MessagesArePercentEncoded) {
  const std::pair<std::string, std::string> rows[] = {
      {"", ""},
      {"no such pod", "no such pod"},
      {"100%", "100%25"},
      {"two\nlines", "two%0Alines"},
      {"\xe2\x82\xac", "%E2%82%AC"},
      {std::string("\0\x7f", 2), "%00%7F"},
  };
  for (const auto& [plain, text] : rows) {
    EXPECT_EQ(encode_message(plain), text);
    EXPECT_EQ(decode_message(text), plain);
  }
}

TEST(HeaderText, WhatIsNoSequenceStays) {
  EXPECT_EQ(decode_message("%"), "%");
  EXPECT_EQ(decode_message("%4"), "%4");
  EXPECT_EQ(decode_message("%zz%41"), "%zzA");
  EXPECT_EQ(decode_message("%4g%e2"), "%4g\xe2");
}

TEST(HeaderText, MessagesAreBounded) {
  EXPECT_EQ(encode_message(std::string(5000, 'x')).size(), kMessageMax);
  EXPECT_LE(encode_message(std::string(5000, '\n')).size(), kMessageMax);
  EXPECT_EQ(decode_message(std::string(60'000, 'x')).size(), kMessageMax);
}

RC_GTEST_PROP(HeaderText, AMessageComesBack, (const std::string& message)) {
  if (3 * message.size() > kMessageMax) return;
  const std::string text = encode_message(message);
  for (const char c : text) RC_ASSERT(c >= ' ' && c <= '~');
  RC_ASSERT(decode_message(text) == message);
}

TEST(HeaderText, TimeoutsAreAsExactAsEightDigitsAllow) {
  const std::pair<net::Duration, const char*> rows[] = {
      {nanoseconds{1}, "1n"},
      {nanoseconds{0}, "1n"},
      {nanoseconds{-5}, "1n"},
      {milliseconds{10}, "10000000n"},
      {milliseconds{100}, "100000u"},
      {seconds{10}, "10000000u"},
      {nanoseconds{123'456'789}, "123457u"},
      {seconds{3600}, "3600000m"},
      {hours{24 * 365}, "31536000S"},
      {net::Duration::max(), "2562048H"},
  };
  for (const auto& [timeout, text] : rows) EXPECT_EQ(timeout_text(timeout), text);
}

TEST(HeaderText, TimeoutsAreReadStrictly) {
  EXPECT_EQ(parse_timeout("1n"), nanoseconds{1});
  EXPECT_EQ(parse_timeout("250m"), milliseconds{250});
  EXPECT_EQ(parse_timeout("10S"), seconds{10});
  EXPECT_EQ(parse_timeout("2M"), seconds{120});
  EXPECT_EQ(parse_timeout("00000001H"), hours{1});
  EXPECT_EQ(parse_timeout("99999999H"), net::Duration::max());
  for (const char* bad : {"", "S", "1", "1s", "-1S", "+1S", "1 S", "100000000S", "1.5S", "1SS"}) {
    EXPECT_FALSE(parse_timeout(bad)) << bad;
  }
}

RC_GTEST_PROP(HeaderText, ATimeoutIsNeverShortened, (std::int64_t ns)) {
  const auto back = parse_timeout(timeout_text(net::Duration{ns}));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back >= net::Duration{ns});
}

TEST(HeaderText, KnowsTheTypeOfGrpc) {
  for (const char* good : {"application/grpc", "application/grpc+proto", "application/grpc;x=y"}) {
    EXPECT_TRUE(is_grpc_type(good)) << good;
  }
  for (const char* bad : {"", "text/html", "application/grpcx", "application/grpc-web"}) {
    EXPECT_FALSE(is_grpc_type(bad)) << bad;
  }
}

TEST(HeaderText, ShowsTheBeginningOfWhatAPeerSent) {
  EXPECT_EQ(shown("a\nb\x80"), "a?b?");
  EXPECT_EQ(shown(std::string(200, 'x')), std::string(100, 'x') + "...");
}

}  // namespace
}  // namespace stowage::grpc
