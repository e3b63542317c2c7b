#include "base/text.h"

#include <gtest/gtest.h>

namespace stowage::base {
namespace {

TEST(Text, IsTrimmed) {
  const struct {
    std::string_view text;
    std::string_view blanks;
    std::string_view trimmed;
  } rows[] = {
      {"", kBlanks, ""},           {" \t\r\n", kBlanks, ""}, {" a b\n", kBlanks, "a b"},
      {"\va\f", kBlanks, "\va\f"}, {"\va\f", kSpaces, "a"},  {"\na \n", " ", "\na \n"},
      {" a\n", " ", "a\n"},
  };
  for (const auto& row : rows) EXPECT_EQ(trim(row.text, row.blanks), row.trimmed) << row.text;
}

TEST(Text, OnlyLettersOfAsciiHaveCase) {
  EXPECT_EQ(ascii_lower("NVIDIA A100-[@`{\xC3\x84"), "nvidia a100-[@`{\xC3\x84");
  EXPECT_TRUE(equals_ignoring_case("Content-Type", "content-tYPE"));
  EXPECT_FALSE(equals_ignoring_case("content", "content-type"));
  EXPECT_FALSE(equals_ignoring_case("@", "`"));
  EXPECT_FALSE(equals_ignoring_case("[", "{"));
}

TEST(Text, IsJoined) {
  const struct {
    std::vector<std::string> texts;
    std::string joined;
  } rows[] = {
      {{}, ""},         {{"a"}, "a"},       {{"a", "b", "c"}, "a, b, c"},
      {{"", "a"}, "a"}, {{"a", ""}, "a, "}, {{"a", "", "b"}, "a, , b"},
  };
  for (const auto& row : rows) EXPECT_EQ(join(row.texts), row.joined);
  EXPECT_EQ(join(rows[2].texts, " and "), "a and b and c");
}

TEST(Text, NamesAreSplitAtTheFirstSlash) {
  EXPECT_EQ(split_name("ns/pod").ns, "ns");
  EXPECT_EQ(split_name("ns/pod").name, "pod");
  EXPECT_EQ(split_name("node").ns, "");
  EXPECT_EQ(split_name("node").name, "node");
}

}  // namespace
}  // namespace stowage::base
