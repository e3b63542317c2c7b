#include "base/number.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace stowage::base {
namespace {

TEST(ParseNumber, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_number<std::int64_t>("-12"), -12);
  EXPECT_EQ(parse_number<std::uint8_t>("255"), 255);
  EXPECT_EQ(parse_number<double>("0.25"), 0.25);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "-", "0x1"}) {
    EXPECT_EQ(parse_number<std::int64_t>(text), std::nullopt) << text;
  }
}

TEST(ParseNumber, RefusesWhatDoesNotFit) {
  EXPECT_EQ(parse_number<std::uint8_t>("256"), std::nullopt);
  EXPECT_EQ(parse_number<std::uint8_t>("-1"), std::nullopt);
  EXPECT_EQ(parse_number<std::int64_t>("9223372036854775808"), std::nullopt);
}

TEST(ParseNumber, ReadsOtherBases) {
  EXPECT_EQ(parse_number<std::uint32_t>("fF", 16), 255U);
  EXPECT_EQ(parse_number<std::uint32_t>("17", 8), 15U);
  EXPECT_EQ(parse_number<std::uint32_t>("8", 8), std::nullopt);
}

}  // namespace
}  // namespace stowage::base
