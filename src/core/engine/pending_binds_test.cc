#include "core/engine/pending_binds.h"

#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::core {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

PendingBind bind(std::uint64_t arrival, std::uint64_t generation = 0) {
  return {.pod = testing::pod("p"), .arrival = arrival, .generation = generation};
}

TEST(PendingBinds, AreTakenOnce) {
  PendingBinds binds;
  binds.start("p", bind(7));
  EXPECT_EQ(binds.size(), 1U);
  ASSERT_TRUE(binds.take("p").has_value());
  EXPECT_FALSE(binds.take("p").has_value());
}

TEST(PendingBinds, APickAnswersTheQuestionThatWasAskedLast) {
  PendingBinds binds;
  binds.start("p", bind(7));
  EXPECT_FALSE(binds.take("p", 0).has_value());  // the picker was not asked
  binds.start("p", bind(7, 3));
  EXPECT_FALSE(binds.take("p", 2).has_value());
  EXPECT_FALSE(binds.take("q", 3).has_value());
  ASSERT_TRUE(binds.take("p", 3).has_value());
  EXPECT_EQ(binds.size(), 0U);
}

TEST(PendingBinds, APodRestsLongerEachTimeItsBindFails) {
  PendingBinds binds;
  EXPECT_EQ(binds.failed("p", {0}).ns, kSecond);
  EXPECT_EQ(binds.failed("p", {0}).ns, 2 * kSecond);
  for (int i = 0; i < 10; ++i) (void)binds.failed("p", {0});
  EXPECT_EQ(binds.failed("p", {5 * kSecond}).ns, 15 * kSecond);
  EXPECT_EQ(binds.failed("q", {0}).ns, kSecond);
  binds.forget("p");  // bound in the end
  EXPECT_EQ(binds.failed("p", {0}).ns, kSecond);
}

TEST(PendingBinds, UidsAreSorted) {
  PendingBinds binds;
  for (const char* uid : {"c", "a", "b"}) binds.start(uid, bind(0));
  EXPECT_EQ(binds.uids(), (std::vector<std::string>{"a", "b", "c"}));
  binds.clear();
  EXPECT_TRUE(binds.uids().empty());
}

}  // namespace
}  // namespace stowage::core
