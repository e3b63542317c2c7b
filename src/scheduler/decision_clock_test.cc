#include "scheduler/decision_clock.h"

#include <gtest/gtest.h>

#include "dialect/dialect.h"

namespace stowage::scheduler {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kUnixNow = 1'000 * kSecond;

class DecisionClockTest : public ::testing::Test {
 protected:
  std::int64_t now_ = kUnixNow;
  DecisionClock clock_{[this] { return now_; }};
  dialect::PodObject pod_;
};

TEST_F(DecisionClockTest, TimesGrowThoughTheClockStandsStillOrGoesBack) {
  EXPECT_EQ(clock_.next(pod_), kUnixNow);
  EXPECT_EQ(clock_.next(pod_), kUnixNow + 1);
  now_ -= kSecond;
  EXPECT_EQ(clock_.next(pod_), kUnixNow + 2);
  now_ += 2 * kSecond;
  EXPECT_EQ(clock_.next(pod_), kUnixNow + kSecond);
}

TEST_F(DecisionClockTest, TimesAreLaterThanThoseThatWereSeen) {
  clock_.saw(kUnixNow + 30 * kSecond, false);
  EXPECT_EQ(clock_.next(pod_), kUnixNow + 30 * kSecond + 1);
  clock_.saw(kUnixNow + 61 * kSecond, false);
  EXPECT_EQ(clock_.next(pod_), kUnixNow + 30 * kSecond + 2) << "so far ahead is not one of us";
  clock_.saw(kUnixNow + 61 * kSecond, true);
  EXPECT_EQ(clock_.next(pod_), kUnixNow + 61 * kSecond + 1) << "a signature proves it";
}

TEST_F(DecisionClockTest, ADecisionIsLaterThanTheRefusalsThatItsSchedulerKnowsOf) {
  pod_.unscheduled_reason = "Unschedulable";
  pod_.unscheduled_since = "1970-01-01T00:17:10Z";  // its clock is ahead
  const std::int64_t decided = clock_.next(pod_);
  EXPECT_FALSE(dialect::refused_since(pod_, decided));
  pod_.unscheduled_since = "1970-01-01T00:17:12Z";
  EXPECT_TRUE(dialect::refused_since(pod_, decided)) << "found again later";
}

TEST_F(DecisionClockTest, ARefusalFarAheadIsNotBelieved) {
  pod_.unscheduled_reason = "Unschedulable";
  pod_.unscheduled_since = "1970-01-01T01:00:00Z";
  EXPECT_EQ(clock_.next(pod_), kUnixNow);
  pod_.unscheduled_since = "yesterday";
  EXPECT_EQ(clock_.next(pod_), kUnixNow + 1);
}

}  // namespace
}  // namespace stowage::scheduler
