#include "sim/text.h"

#include <gtest/gtest.h>

namespace stowage::sim {
namespace {

TEST(Text, ValuesInMessagesStayOnOneLine) {
  EXPECT_EQ(in_quotes("plain"), "\"plain\"");
  EXPECT_EQ(in_quotes("a\tb\n\"c\\"), "\"a\\x09b\\x0a\\\"c\\\\\"");
  EXPECT_EQ(in_quotes("\xC3\xA4"), "\"\\xc3\\xa4\"");
  EXPECT_EQ(in_quotes(std::string(100, 'x')), "\"" + std::string(60, 'x') + "...\"");
}

TEST(Text, WholeNumbersAreReadStrictly) {
  struct Row {
    const char* name;
    const char* text;
    bool good;
  };
  const Row rows[] = {
      {"zero", "0", true},
      {"the greatest that is allowed", "1000", true},
      {"leading zeros", "007", true},
      {"one too many", "1001", false},
      {"a negative number", "-5", false},
      {"nothing", "", false},
      {"a blank before", " 5", false},
      {"a blank behind", "5 ", false},
      {"a plus", "+5", false},
      {"a fraction", "5.0", false},
      {"an exponent", "1e2", false},
      {"hexadecimal", "0x10", false},
      {"a word", "many", false},
      {"more than 64 bits", "99999999999999999999999", false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const auto parsed = parse_whole({"pods.csv", 17, "gpu_milli"}, row.text, {0, 1000});
    EXPECT_EQ(parsed.has_value(), row.good);
  }
}

TEST(Text, ABadNumberIsNamedWithItsPlace) {
  const auto parsed = parse_whole({"pods.csv", 17, "gpu_milli"}, "-5", {0, 1'000'000});
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message,
            "pods.csv:17: gpu_milli is \"-5\": expected a whole number from 0 to 1000000");
}

TEST(Text, LinesEndInEitherWay) {
  using Lines = std::vector<std::string_view>;
  EXPECT_EQ(split_lines(""), Lines{});
  EXPECT_EQ(split_lines("a\nb\n"), (Lines{"a", "b"}));
  EXPECT_EQ(split_lines("a\r\nb"), (Lines{"a", "b"}));
  EXPECT_EQ(split_lines("a\n\nb\n"), (Lines{"a", "", "b"}));
  EXPECT_EQ(split_lines("\xEF\xBB\xBF"
                        "a\n"),
            Lines{"a"});
}

TEST(Text, ASplitKeepsEmptyPieces) {
  using Pieces = std::vector<std::string_view>;
  EXPECT_EQ(split("", ','), Pieces{""});
  EXPECT_EQ(split(",a,", ','), (Pieces{"", "a", ""}));
}

TEST(Text, NamesArePlain) {
  EXPECT_TRUE(is_plain_name("openb-node-0000"));
  EXPECT_FALSE(is_plain_name(""));
  EXPECT_FALSE(is_plain_name("two words"));
  EXPECT_FALSE(is_plain_name("a\xC3\xA4"));
  EXPECT_FALSE(is_plain_name(std::string("a\0b", 3)));
  EXPECT_FALSE(is_plain_name(std::string(254, 'x')));
}

TEST(Text, LargeNumbersAreGrouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-123), "-123");
  EXPECT_EQ(grouped(-1234), "-1,234");
}

}  // namespace
}  // namespace stowage::sim
