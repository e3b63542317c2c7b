#include "base/rfc3339.h"

#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace stowage::base {
namespace {

TEST(Rfc3339, WritesSeconds) {
  const struct {
    std::int64_t seconds;
    const char* text;
  } rows[] = {
      {0, "1970-01-01T00:00:00Z"},
      {-1, "1969-12-31T23:59:59Z"},
      {951'782'400, "2000-02-29T00:00:00Z"},
      {1'767'323'045, "2026-01-02T03:04:05Z"},
      {kFirstTimeSecond, "0001-01-01T00:00:00Z"},
      {kFirstTimeSecond - 1, "0000-12-31T23:59:59Z"},
      {kEndTimeSecond - 1, "9999-12-31T23:59:59Z"},
      {kEndTimeSecond, "10000-01-01T00:00:00Z"},
  };
  for (const auto& row : rows) EXPECT_EQ(format_rfc3339(row.seconds), row.text);
}

TEST(Rfc3339, WritesMicroseconds) {
  const struct {
    std::int64_t micros;
    const char* text;
  } rows[] = {
      {0, "1970-01-01T00:00:00.000000Z"},
      {-1, "1969-12-31T23:59:59.999999Z"},
      {1'767'323'045'000'007, "2026-01-02T03:04:05.000007Z"},
  };
  for (const auto& row : rows) EXPECT_EQ(format_rfc3339_micros(row.micros), row.text);
}

TEST(Rfc3339, IsRead) {
  const struct {
    const char* text;
    UnixTime time;
  } rows[] = {
      {"1970-01-01T00:00:00Z", {}},
      {"1969-12-31T23:59:59.25Z", {-1, 250'000'000}},
      {"2024-05-06T07:08:09Z", {1'714'979'289, 0}},
      {"2024-05-06t07:08:09z", {1'714'979'289, 0}},
      {"2024-05-06T07:08:09.012345Z", {1'714'979'289, 12'345'000}},
      {"2024-05-06T07:08:09.0123456789Z", {1'714'979'289, 12'345'678}},
      {"2024-05-06T09:08:09+02:00", {1'714'979'289, 0}},
      {"2024-05-06T01:38:09-05:30", {1'714'979'289, 0}},
      {"2024-05-06T07:08:60Z", {1'714'979'340, 0}},
      {"0000-01-01T00:00:00Z", {-62'167'219'200, 0}},
  };
  for (const auto& row : rows) EXPECT_EQ(parse_rfc3339(row.text, {}), row.time) << row.text;
}

TEST(Rfc3339, OtherTextsAreRefused) {
  for (const char* text : {"",
                           "x",
                           "2024",
                           "2024-05-06",
                           "2024-13-01T00:00:00Z",
                           "2024-00-01T00:00:00Z",
                           "2023-02-29T12:34:56Z",
                           "2024-05-06T24:00:00Z",
                           "2024-05-06T07:60:09Z",
                           "2024-05-06T07:08:61Z",
                           "2024-05-06T07:08:09",
                           "2024-05-06T07:08:09.Z",
                           "2024-05-06T07:08:09Zx",
                           "2024-05-06T07:08:09+2:00",
                           "2024-05-06T07:08:09+24:00",
                           "2024-05-06T07:08:09+02:60",
                           "2024-05-06T07:08:09+0200",
                           "2024-5-06T07:08:09Z",
                           "-024-05-06T07:08:09Z",
                           "2024-05-06 07:08:09Z",
                           "2024/05/06T07:08:09Z"}) {
    EXPECT_FALSE(parse_rfc3339(text, {})) << text;
  }
}

TEST(Rfc3339, RulesWidenAndNarrowWhatIsRead) {
  EXPECT_TRUE(parse_rfc3339("2024-05-06 07:08:09Z", {.space_for_t = true}));
  EXPECT_EQ(parse_rfc3339("1970-01-05T04:39:00+99:99", {.any_offset = true}), UnixTime{});
  const Rfc3339Rules years{.first_year = 1970, .last_year = 2200};
  EXPECT_FALSE(parse_rfc3339("1969-12-31T23:59:59Z", years));
  EXPECT_TRUE(parse_rfc3339("1970-01-01T00:00:00Z", years));
  EXPECT_TRUE(parse_rfc3339("2200-12-31T23:59:59Z", years));
  EXPECT_FALSE(parse_rfc3339("2201-01-01T00:00:00Z", years));
}

RC_GTEST_PROP(Rfc3339, ReadingUndoesWriting, ()) {
  const auto seconds = *rc::gen::inRange<std::int64_t>(kFirstTimeSecond, kEndTimeSecond);
  RC_ASSERT(parse_rfc3339(format_rfc3339(seconds), {}) == UnixTime{seconds});
  const auto chars = rfc3339_chars(seconds);
  RC_ASSERT(format_rfc3339(seconds) == std::string(chars.data(), chars.size()));
}

}  // namespace
}  // namespace stowage::base
