#include "core/affinity/node_pod_counts.h"

#include <gtest/gtest.h>

namespace stowage::core {
namespace {

TEST(NodePodCounts, CountsBySetAndDropsSetsWithoutPods) {
  NodePodCounts counts;
  const NodeIndex node(2U);
  const LabelSetIndex web(0U);
  const LabelSetIndex db(1U);
  EXPECT_TRUE(counts.on(2).empty());
  counts.add(node, {.set = web, .pods = 1});
  counts.add(node, {.set = db, .pods = 1, .leaving = 1});
  counts.add(node, {.set = web, .pods = 1, .leaving = 1});
  ASSERT_EQ(counts.on(2).size(), 2U);
  EXPECT_EQ(counts.on(2)[0].pods, 2);
  EXPECT_EQ(counts.on(2)[0].leaving, 1);
  counts.add(node, {.set = db, .pods = -1, .leaving = -1});
  ASSERT_EQ(counts.on(2).size(), 1U);
  EXPECT_EQ(counts.on(2)[0].set, web);
  EXPECT_TRUE(counts.on(0).empty());
  EXPECT_EQ(counts.rows(), 3U);
}

}  // namespace
}  // namespace stowage::core
