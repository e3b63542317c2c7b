#include "kube/pacing.h"

#include <gtest/gtest.h>

namespace stowage::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const SteadyTime kStart = SteadyTime{} + std::chrono::hours{1};

TEST(TokenBucket, StartsFullAndRefillsWithTime) {
  TokenBucket bucket(10, 2);
  EXPECT_TRUE(bucket.take(kStart));
  EXPECT_TRUE(bucket.take(kStart));
  EXPECT_FALSE(bucket.take(kStart));
  EXPECT_EQ(bucket.wait(kStart), milliseconds{100});
  EXPECT_TRUE(bucket.take(kStart + milliseconds{100}));
  EXPECT_FALSE(bucket.take(kStart + milliseconds{150}));
  EXPECT_TRUE(bucket.take(kStart + seconds{60}));
  EXPECT_TRUE(bucket.take(kStart + seconds{60}));
  EXPECT_FALSE(bucket.take(kStart + seconds{60}));
}

TEST(TokenBucket, LeavesTheReserveToOthers) {
  TokenBucket bucket(1, 4);
  EXPECT_TRUE(bucket.take(kStart, 2));
  EXPECT_TRUE(bucket.take(kStart, 2));
  EXPECT_FALSE(bucket.take(kStart, 2));
  EXPECT_EQ(bucket.wait(kStart, 2), seconds{1});
  EXPECT_TRUE(bucket.take(kStart));
}

TEST(TokenBucket, AReserveAboveTheBurstBlocksNoCallerForEver) {
  TokenBucket bucket(1, 2);
  EXPECT_TRUE(bucket.take(kStart, 50));
  EXPECT_FALSE(bucket.take(kStart, 50));
  EXPECT_EQ(bucket.wait(kStart, 50), seconds{1});
  EXPECT_TRUE(bucket.take(kStart + seconds{1}, 50));
}

TEST(TokenBucket, WithoutARateThereIsNoLimit) {
  TokenBucket bucket(0, 1);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(bucket.take(kStart, 50));
  EXPECT_EQ(bucket.wait(kStart), seconds{0});
}

TEST(JitteredBackoff, DoublesWithinItsBoundsAndRestarts) {
  JitteredBackoff backoff(milliseconds{100}, milliseconds{400}, 7);
  for (const int base : {100, 200, 400, 400}) {
    const net::Duration pause = backoff.next();
    EXPECT_GE(pause, milliseconds{base} * 3 / 4);
    EXPECT_LE(pause, milliseconds{base} * 5 / 4);
  }
  backoff.reset();
  EXPECT_LE(backoff.next(), milliseconds{125});
}

}  // namespace
}  // namespace stowage::kube
