#include "base/backoff.h"

#include <vector>

#include <gtest/gtest.h>

namespace stowage::base {
namespace {

using std::chrono::seconds;

TEST(Backoff, DoublesWithinItsBounds) {
  const struct {
    seconds min;
    seconds max;
    std::vector<int> pauses;
  } rows[] = {
      {seconds{1}, seconds{10}, {1, 2, 4, 8, 10, 10}},
      {seconds{2}, seconds{8}, {2, 4, 8, 8}},
      {seconds{5}, seconds{5}, {5, 5}},
      {seconds{5}, seconds{1}, {5, 5}},
      {seconds{0}, seconds{5}, {0, 0}},
  };
  for (const auto& row : rows) {
    Backoff backoff(row.min, row.max);
    std::uint32_t n = 0;
    for (const int pause : row.pauses) {
      EXPECT_EQ(Backoff::nth(row.min, row.max, ++n), seconds{pause}) << n;
      EXPECT_EQ(backoff.peek(), seconds{pause}) << n;
      EXPECT_EQ(backoff.next(), seconds{pause}) << n;
    }
    backoff.reset();
    EXPECT_EQ(backoff.next(), row.min);
  }
}

TEST(Backoff, TheNthPauseIsFoundAtOnce) {
  constexpr std::uint32_t kMany = 4'000'000'000;
  EXPECT_EQ(Backoff::nth(seconds{1}, seconds{300}, kMany), seconds{300});
  EXPECT_EQ(Backoff::nth(seconds{0}, seconds{300}, kMany), seconds{0});
}

TEST(Backoff, JitterIsAQuarterUpAndDown) {
  EXPECT_EQ(with_jitter(seconds{4}, 0), seconds{3});
  EXPECT_EQ(with_jitter(seconds{4}, 0.5), seconds{4});
  EXPECT_EQ(with_jitter(seconds{4}, 1), seconds{5});
  EXPECT_EQ(with_jitter(seconds{0}, 1), seconds{0});
}

}  // namespace
}  // namespace stowage::base
