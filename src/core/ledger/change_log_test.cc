#include "core/ledger/change_log.h"

#include <gtest/gtest.h>

namespace stowage::core {
namespace {

TEST(ChangeLog, TellsWhatChangedSinceAPosition) {
  ChangeLog log;
  const std::uint64_t start = log.count();
  log.append(NodeIndex(3U), 10);
  log.append(NodeIndex(1U), 10);
  const auto all = log.since(start);
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ((*all)[0], NodeIndex(3U));
  EXPECT_EQ((*all)[1], NodeIndex(1U));
  EXPECT_EQ(log.since(start + 1)->size(), 1U);
  EXPECT_TRUE(log.since(log.count())->empty());
}

TEST(ChangeLog, ForgetsItsOlderHalfAndKeepsPositions) {
  constexpr std::size_t kNodes = 100;
  ChangeLog log;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    log.append(NodeIndex(i), kNodes);
    EXPECT_EQ(log.count(), i + 1U);
  }
  EXPECT_FALSE(log.since(0)) << "too long ago";
  const auto kept = log.since(log.count() - 2 * kNodes);
  ASSERT_TRUE(kept);
  ASSERT_EQ(kept->size(), 2 * kNodes);
  EXPECT_EQ(kept->front(), NodeIndex(9'800U));
  EXPECT_EQ(kept->back(), NodeIndex(9'999U));
}

}  // namespace
}  // namespace stowage::core
