#include "local/wall_time.h"

#include <gtest/gtest.h>

#include "local/test_cluster.h"

namespace stowage::local {
namespace {

TEST(WallTime, IsWrittenAndReadBack) {
  const WallTime time = kTestTime + std::chrono::microseconds{7};
  EXPECT_EQ(time_text(time), "2026-01-02T03:04:05Z");
  EXPECT_EQ(micro_time_text(time), "2026-01-02T03:04:05.000007Z");
  EXPECT_EQ(parse_time(micro_time_text(time)), time);
  EXPECT_EQ(parse_time("2026-01-02T05:04:05+02:00"), kTestTime);
  EXPECT_EQ(parse_time("2026-01-02T03:04:05.000007123Z"), time);
  for (const char* text : {"", "x", "2026-01-02", "2026-13-02T03:04:05Z", "2026-02-30T03:04:05Z",
                           "2026-01-02T25:04:05Z", "2026-01-02T03:04:05", "2026-01-02T03:04:05.Z",
                           "2026-01-02T03:04:05Zz"}) {
    EXPECT_FALSE(parse_time(text)) << text;
  }
}

TEST(WallTime, AgesAreShort) {
  using namespace std::chrono_literals;
  const std::pair<std::chrono::seconds, const char*> rows[] = {
      {0s, "0s"},           {-1s, "0s"},         {-5s, "<invalid>"}, {119s, "119s"},
      {120s, "2m"},         {200s, "3m20s"},     {600s, "10m"},      {3h, "3h"},
      {3h + 5min, "3h5m"},  {9h + 5min, "9h"},   {50h, "2d2h"},      {24h * 8, "8d"},
      {24h * 800, "2y70d"}, {24h * 3650, "10y"},
  };
  for (const auto& [age, wanted] : rows) EXPECT_EQ(age_text(age), wanted);
}

}  // namespace
}  // namespace stowage::local
