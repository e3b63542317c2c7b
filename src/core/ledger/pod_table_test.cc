#include "core/ledger/pod_table.h"

#include <gtest/gtest.h>

namespace stowage::core {
namespace {

TEST(PodTable, FindsRecordsByUidUntilTheyAreRemoved) {
  PodTable pods;
  EXPECT_FALSE(pods.find("a").valid());
  const PodIndex a = pods.add("a");
  const PodIndex b = pods.add("b");
  EXPECT_EQ(pods.find("a"), a);
  EXPECT_EQ(pods.record(b).uid, "b");
  EXPECT_EQ(pods.count(), 2U);
  pods.record(a).priority = 5;
  pods.remove(a);
  EXPECT_FALSE(pods.find("a").valid());
  EXPECT_EQ(pods.count(), 1U);
  EXPECT_TRUE(pods.complete());

  EXPECT_EQ(pods.add("c"), a) << "the index is used again";
  EXPECT_EQ(pods.record(a).priority, 0) << "and the record is empty";
  EXPECT_TRUE(pods.complete());
}

TEST(PodTable, AppendsBehindAllOthers) {
  PodTable pods;
  pods.remove(pods.add("a"));
  const PodIndex copy = pods.append({.uid = "b", .priority = 3});
  EXPECT_EQ(copy, PodIndex(1U));
  EXPECT_EQ(pods.record(copy).priority, 3);
  EXPECT_EQ(pods.find("b"), copy);
  EXPECT_TRUE(pods.complete());
}

TEST(PodTableDeathTest, AUidHasOneRecord) {
  PodTable pods;
  (void)pods.add("a");
  EXPECT_DEATH((void)pods.add("a"), "by_uid_");
}

}  // namespace
}  // namespace stowage::core
