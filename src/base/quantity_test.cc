#include "base/quantity.h"

#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace stowage::base {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

struct Row {
  const char* text;
  std::int64_t units;
  std::int64_t milli;
  const char* plain;
};

TEST(Quantity, ReadsEverySuffixOfTheApi) {
  const Row rows[] = {
      {"0", 0, 0, "0"},
      {"-0", 0, 0, "0"},
      {"1", 1, 1000, "1"},
      {"+1", 1, 1000, "1"},
      {"-1", -1, -1000, "-1"},
      {"007", 7, 7000, "7"},
      {".5", 1, 500, "0.5"},
      {"5.", 5, 5000, "5"},
      {"1.5", 2, 1500, "1.5"},
      {"-1.5", -2, -1500, "-1.5"},
      {"250m", 1, 250, "0.25"},
      {"1500m", 2, 1500, "1.5"},
      {"1u", 1, 1, "0.000001"},
      {"1n", 1, 1, "0.000000001"},
      {"0.1n", 1, 1, "0.000000001"},
      {"-0.1n", -1, -1, "-0.000000001"},
      {"2k", 2'000, 2'000'000, "2000"},
      {"2M", 2'000'000, 2'000'000'000, "2000000"},
      {"2G", 2'000'000'000, 2'000'000'000'000, "2000000000"},
      {"2T", 2'000'000'000'000, 2'000'000'000'000'000, "2000000000000"},
      {"1P", 1'000'000'000'000'000, 1'000'000'000'000'000'000, "1000000000000000"},
      {"1Ki", 1024, 1'024'000, "1024"},
      {"1.5Ki", 1536, 1'536'000, "1536"},
      {"1Mi", 1'048'576, 1'048'576'000, "1048576"},
      {"1Gi", 1'073'741'824, 1'073'741'824'000, "1073741824"},
      {"1Ti", 1'099'511'627'776, 1'099'511'627'776'000, "1099511627776"},
      {"1Pi", 1'125'899'906'842'624, 1'125'899'906'842'624'000, "1125899906842624"},
      {"1e3", 1000, 1'000'000, "1000"},
      {"1E3", 1000, 1'000'000, "1000"},
      {"1e+3", 1000, 1'000'000, "1000"},
      {"1.25e2", 125, 125'000, "125"},
      {"125e-2", 2, 1250, "1.25"},
      {"1e-99", 1, 1, "0.000000001"},
      {"1e-99999999999999999999", 1, 1, "0.000000001"},
      {"0e99999999999999999999", 0, 0, "0"},
      {"0.000000000000000000000000000000000000001e39", 1, 1000, "1"},
      {"1000000000000000000000000000000000000000e-39", 1, 1000, "1"},
  };
  for (const Row& row : rows) {
    const auto quantity = Quantity::parse(row.text);
    ASSERT_TRUE(quantity) << row.text << ": " << quantity.error().message;
    EXPECT_EQ(quantity->units().value_or(-99), row.units) << row.text;
    EXPECT_EQ(quantity->milli().value_or(-99), row.milli) << row.text;
    EXPECT_EQ(quantity->text(), row.plain) << row.text;
  }
}

TEST(Quantity, KeepsLargeAmountsExact) {
  EXPECT_EQ(Quantity::parse("9223372036854775807")->units().value_or(0), kMax);
  EXPECT_EQ(Quantity::parse("-9223372036854775808")->units().value_or(0), -kMax - 1);
  EXPECT_EQ(Quantity::parse("7Ei")->units().value_or(0), 7 * (std::int64_t{1} << 60));
  EXPECT_EQ(Quantity::parse("9E")->units().value_or(0), 9'000'000'000'000'000'000);
  EXPECT_EQ(Quantity::parse("0.123456789012345678901234567890Ei")->units().value_or(0),
            142'335'986'942'043'634);
}

TEST(Quantity, ParsesWhatIsTooLargeAndRefusesToCountIt) {
  for (const char* text : {"9223372036854775808", "8Ei", "10E", "1e30", "1e300", "1e999999999999",
                           "99999999999999999999999999999999999999999999999999Ei"}) {
    const auto quantity = Quantity::parse(text);
    ASSERT_TRUE(quantity) << text;
    EXPECT_FALSE(quantity->negative()) << text;
    EXPECT_FALSE(quantity->units()) << text;
    EXPECT_FALSE(quantity->milli()) << text;
  }
  EXPECT_FALSE(Quantity::parse("-9223372036854775809")->units());
  EXPECT_TRUE(Quantity::parse("-1e30")->negative());
  EXPECT_EQ(
      Quantity::parse("1e30")->units().error().message,
      "100000000000000000000000000000 or more is too large; the maximum is 9223372036854775807");
  EXPECT_EQ(*Quantity::parse("1e30"), *Quantity::parse("1e40"));
  // The number of units fits 64 bits, but the number of milli-units does not.
  EXPECT_TRUE(Quantity::parse("9223372036854775807")->units());
  EXPECT_FALSE(Quantity::parse("9223372036854775807")->milli());
}

TEST(Quantity, RefusesWhatIsNotAQuantityAndNamesIt) {
  for (const char* text :
       {"",   " ",   "1 ",  " 1",    "1 Gi",  "-",    "+",   ".",     "-.",      "m",   "Gi",
        "e3", "1e",  "1e+", "1e+-3", "1e3.5", "1e3k", "--1", "+-1",   "1.2.3",   "1,5", "0x10",
        "1K", "1gi", "1mi", "1KiB",  "1kk",   "NaN",  "inf", "1_000", "\xD9\xA1"}) {
    const auto quantity = Quantity::parse(text);
    ASSERT_FALSE(quantity) << text;
    EXPECT_NE(quantity.error().message.find(std::string("\"") + text + "\""), std::string::npos);
  }
  EXPECT_FALSE(Quantity::parse(std::string(257, '1')));
  EXPECT_FALSE(Quantity::parse(std::string_view("1\0", 2)));
}

TEST(Quantity, KnowsWholeNumbersAndOrder) {
  EXPECT_TRUE(Quantity::parse("3")->whole());
  EXPECT_TRUE(Quantity::parse("3000m")->whole());
  EXPECT_TRUE(Quantity::parse("0.5Ki")->whole());
  EXPECT_FALSE(Quantity::parse("2500m")->whole());
  EXPECT_TRUE(Quantity().zero());
  EXPECT_LT(*Quantity::parse("999m"), Quantity::of(1));
  EXPECT_EQ(*Quantity::parse("1Ki"), *Quantity::parse("1.024k"));
}

RC_GTEST_PROP(Quantity, ItsTextReadsBackAsItself, (std::int64_t milli)) {
  const auto quantity = Quantity::parse(std::to_string(milli) + "m");
  RC_ASSERT(quantity);
  RC_ASSERT(quantity->milli().value_or(0) == milli);
  const auto again = Quantity::parse(quantity->text());
  RC_ASSERT(again);
  RC_ASSERT(*again == *quantity);
}

RC_GTEST_PROP(Quantity, UnitsAreThoseItWasMadeOf, (std::int64_t units)) {
  RC_ASSERT(Quantity::of(units).units().value_or(0) == units);
  RC_ASSERT(Quantity::of(units).whole());
  RC_ASSERT(Quantity::of(units) == Quantity::parse(std::to_string(units)).value_or(Quantity()));
}

RC_GTEST_PROP(Quantity, OrderIsThatOfTheNumbers, (std::int32_t a, std::int32_t b)) {
  const auto left = Quantity::parse(std::to_string(a) + "m");
  const auto right = Quantity::parse(std::to_string(b) + "000u");
  RC_ASSERT(left && right);
  RC_ASSERT((*left < *right) == (a < b));
  RC_ASSERT((*left == *right) == (a == b));
}

RC_GTEST_PROP(Quantity, ARoundedAmountIsNeverBelowTheAmount, (std::uint32_t nano)) {
  const auto quantity = Quantity::parse(std::to_string(nano) + "n");
  RC_ASSERT(quantity);
  const std::int64_t milli = quantity->milli().value_or(-1);
  RC_ASSERT(milli * 1'000'000 >= std::int64_t{nano});
  RC_ASSERT((milli - 1) * 1'000'000 < std::int64_t{nano});
}

RC_GTEST_PROP(Quantity, LeadingZerosChangeNothing, (std::uint32_t number)) {
  // Twenty leading zeros force the code path for long numbers.
  const auto suffix = *rc::gen::element<std::string>("", "n", "m", "k", "E", "Ki", "Gi", "Ei",
                                                     "e-30", "e-7", "e5", "e12", "e25", "e80");
  const auto digits = std::to_string(number);
  for (std::size_t point = 0; point <= digits.size(); ++point) {
    const std::string text = digits.substr(0, point) + "." + digits.substr(point) + suffix;
    const auto brief = Quantity::parse(text);
    const auto wide = Quantity::parse(std::string(20, '0') + text);
    RC_ASSERT(brief && wide);
    RC_ASSERT(*brief == *wide);
  }
}

RC_GTEST_PROP(Quantity, AnyTextIsReadOrRefused, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("0123456789.+-eEinumkKMGTP xyz")));
  const auto quantity = Quantity::parse(text);
  if (!quantity) return;
  static_cast<void>(quantity->units());
  static_cast<void>(quantity->milli());
  RC_ASSERT(!quantity->text().empty());
}

}  // namespace
}  // namespace stowage::base
