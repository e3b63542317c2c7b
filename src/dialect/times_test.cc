#include "dialect/times.h"

#include <gtest/gtest.h>

namespace stowage::dialect {
namespace {

TEST(Times, ReadMoments) {
  const struct {
    const char* text;
    std::optional<std::int64_t> nanos;
  } rows[] = {
      {"1970-01-01T00:00:00Z", 0},
      {"1970-01-01T00:00:01.5Z", 1'500'000'000},
      {"1970-01-01T02:00:00+02:00", 0},
      {"1969-12-31T23:00:00-01:00", 0},
      {"2024-02-29T12:34:56Z", 1'709'210'096'000'000'000},
      {"2024-02-29T12:34:56.123456Z", 1'709'210'096'123'456'000},
      {"2023-02-29T12:34:56Z", std::nullopt},
      {"2024-02-29", std::nullopt},
      {"2024-02-29T12:34:56", std::nullopt},
      {"2024-02-29T12:34:56.Z", std::nullopt},
      {"2024-02-29T24:00:00Z", std::nullopt},
      {"2024-02-29T12:34:56Zx", std::nullopt},
      {"9999-01-01T00:00:00Z", std::nullopt},
      {"2024-2-29T12:34:56Z", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& row : rows) EXPECT_EQ(parse_moment(row.text), row.nanos) << row.text;
}

}  // namespace
}  // namespace stowage::dialect
