#include "reports/allowance.h"

#include <gtest/gtest.h>

namespace stowage::reports {
namespace {

using namespace std::chrono_literals;

constexpr AllowanceOptions kSmall{
    .burst_bytes = 1000, .bytes_per_second = 100, .bytes_of_coming = 10, .warn_every = 60s};

TEST(Allowance, IsSpentAndComesBackWithTime) {
  Allowance allowance(kSmall);
  net::Moment now{100s};
  EXPECT_TRUE(allowance.come("n", now));
  EXPECT_TRUE(allowance.send("n", 990, now));
  EXPECT_FALSE(allowance.send("n", 1, now));
  EXPECT_FALSE(allowance.come("n", now)) << "coming again is no way out";
  EXPECT_TRUE(allowance.send("m", 1000, now)) << "each node has its own";
  now += 1s;  // 100 more
  EXPECT_TRUE(allowance.come("n", now));
  EXPECT_TRUE(allowance.send("n", 89, now));
  EXPECT_FALSE(allowance.send("n", 1, now));
}

TEST(Allowance, SmallStepsOfTimeAddUp) {
  Allowance allowance(kSmall);
  net::Moment now{100s};
  EXPECT_TRUE(allowance.send("n", 1000, now));
  for (int i = 0; i < 1000; ++i) {
    now += 1ms;
    (void)allowance.send("n", 0, now);
  }
  EXPECT_TRUE(allowance.send("n", 100, now));
  EXPECT_FALSE(allowance.send("n", 1, now));
}

TEST(Allowance, WhoHasSentTooMuchWaitsForABoundedTime) {
  Allowance allowance(kSmall);
  net::Moment now{100s};
  EXPECT_FALSE(allowance.send("n", std::size_t{1} << 40U, now));
  now += 11s;
  EXPECT_TRUE(allowance.come("n", now));
}

TEST(Allowance, WarnsNowAndThenAndForgetsWhoIsQuiet) {
  Allowance allowance(kSmall);
  net::Moment now{100s};
  EXPECT_TRUE(allowance.may_warn("n", now));
  EXPECT_FALSE(allowance.may_warn("n", now + 59s));
  EXPECT_TRUE(allowance.may_warn("n", now + 60s));
  (void)allowance.send("m", 500, now);
  allowance.tidy(now + 1s);
  EXPECT_EQ(allowance.size(), 2U);
  allowance.tidy(now + 200s);
  EXPECT_EQ(allowance.size(), 0U);
}

}  // namespace
}  // namespace stowage::reports
