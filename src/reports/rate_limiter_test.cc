#include "reports/rate_limiter.h"

#include <gtest/gtest.h>

namespace stowage::reports {
namespace {

using namespace std::chrono_literals;

constexpr RateLimiterOptions kSmall{
    .burst_bytes = 1000, .bytes_per_second = 100, .bytes_of_coming = 10, .warn_every = 60s};

TEST(RateLimiter, IsSpentAndComesBackWithTime) {
  RateLimiter rate_limiter(kSmall);
  net::Moment now{100s};
  EXPECT_TRUE(rate_limiter.allow_connect("n", now));
  EXPECT_TRUE(rate_limiter.send("n", 990, now));
  EXPECT_FALSE(rate_limiter.send("n", 1, now));
  EXPECT_FALSE(rate_limiter.allow_connect("n", now)) << "coming again is no way out";
  EXPECT_TRUE(rate_limiter.send("m", 1000, now)) << "each node has its own";
  now += 1s;  // 100 more
  EXPECT_TRUE(rate_limiter.allow_connect("n", now));
  EXPECT_TRUE(rate_limiter.send("n", 89, now));
  EXPECT_FALSE(rate_limiter.send("n", 1, now));
}

TEST(RateLimiter, SmallStepsOfTimeAddUp) {
  RateLimiter rate_limiter(kSmall);
  net::Moment now{100s};
  EXPECT_TRUE(rate_limiter.send("n", 1000, now));
  for (int i = 0; i < 1000; ++i) {
    now += 1ms;
    (void)rate_limiter.send("n", 0, now);
  }
  EXPECT_TRUE(rate_limiter.send("n", 100, now));
  EXPECT_FALSE(rate_limiter.send("n", 1, now));
}

TEST(RateLimiter, WhoHasSentTooMuchWaitsForABoundedTime) {
  RateLimiter rate_limiter(kSmall);
  net::Moment now{100s};
  EXPECT_FALSE(rate_limiter.send("n", std::size_t{1} << 40U, now));
  now += 11s;
  EXPECT_TRUE(rate_limiter.allow_connect("n", now));
}

TEST(RateLimiter, WarnsNowAndThenAndForgetsWhoIsQuiet) {
  RateLimiter rate_limiter(kSmall);
  net::Moment now{100s};
  EXPECT_TRUE(rate_limiter.may_warn("n", now));
  EXPECT_FALSE(rate_limiter.may_warn("n", now + 59s));
  EXPECT_TRUE(rate_limiter.may_warn("n", now + 60s));
  (void)rate_limiter.send("m", 500, now);
  rate_limiter.tidy(now + 1s);
  EXPECT_EQ(rate_limiter.size(), 2U);
  rate_limiter.tidy(now + 200s);
  EXPECT_EQ(rate_limiter.size(), 0U);
}

}  // namespace
}  // namespace stowage::reports
