#include "core/engine/retry_budget.h"

#include <gtest/gtest.h>

namespace stowage::core {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(RetryBudget, AllowsAFewAtOnceAndThenSoManyPerSecond) {
  RetryBudget budget;
  int tries = 0;
  while (budget.take(1, {0})) ++tries;
  EXPECT_EQ(tries, 64);
  while (budget.take(1, {kSecond / 10})) ++tries;
  EXPECT_EQ(tries, 74);
  while (budget.take(1, {100 * kSecond})) ++tries;
  EXPECT_EQ(tries, 138);
}

TEST(RetryBudget, ATryThatCostsMoreWaitsUntilThereIsEnough) {
  RetryBudget budget;
  EXPECT_TRUE(budget.take(40, {0}));
  EXPECT_FALSE(budget.take(32, {0}));
  EXPECT_TRUE(budget.has(24, {0}));
  EXPECT_TRUE(budget.has(24, {0}));  // has() takes nothing
  EXPECT_TRUE(budget.take(32, {kSecond / 10}));
}

TEST(RetryBudget, TimeThatRunsBackwardsFillsNothing) {
  RetryBudget budget;
  EXPECT_TRUE(budget.take(64, {kSecond}));
  EXPECT_FALSE(budget.take(1, {0}));
}

}  // namespace
}  // namespace stowage::core
