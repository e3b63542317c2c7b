#include "core/affinity/pod_change_log.h"

#include <gtest/gtest.h>

namespace stowage::core {
namespace {

TEST(PodChangeLog, AFullLogDropsItsOlderHalf) {
  PodChangeLog log;
  for (std::size_t i = 0; i < PodChangeLog::kMaxChanges; ++i) log.append({.node = NodeIndex(i)});
  EXPECT_EQ(log.start(), 0U);
  log.append({.node = NodeIndex(PodChangeLog::kMaxChanges)});
  EXPECT_EQ(log.start(), PodChangeLog::kMaxChanges / 2);
  EXPECT_EQ(log.end(), PodChangeLog::kMaxChanges + 1);
  for (std::uint64_t at = log.start(); at < log.end(); ++at) {
    ASSERT_EQ(log.at(at).node, NodeIndex(std::size_t{at}));
  }
}

TEST(PodChangeLog, PositionsGoOnAfterClear) {
  PodChangeLog log;
  log.append({});
  log.append({});
  log.clear();
  EXPECT_EQ(log.start(), 2U);
  EXPECT_EQ(log.end(), 2U);
  log.append({.pods = -1, .lifts_constraints = true});
  EXPECT_EQ(log.end(), 3U);
  EXPECT_TRUE(log.at(2).lifts_constraints);
}

}  // namespace
}  // namespace stowage::core
