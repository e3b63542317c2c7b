#include "base/lru_map.h"

#include <gtest/gtest.h>

namespace stowage::base {
namespace {

TEST(LruMap, ForgetsWhatWasNotUsedForTheLongestTime) {
  LruMap<int> map(2);
  map.put("a", 1);
  map.put("b", 2);
  ASSERT_NE(map.find("a"), nullptr);
  map.put("c", 3);
  EXPECT_EQ(map.find("b"), nullptr);
  ASSERT_NE(map.find("a"), nullptr);
  EXPECT_EQ(*map.find("c"), 3);
  map.put("a", 4);
  EXPECT_EQ(*map.find("a"), 4);
  map.erase("a");
  EXPECT_EQ(map.find("a"), nullptr);
  EXPECT_EQ(map.size(), 1U);
}

TEST(LruMap, PeekingIsNoUse) {
  LruMap<int> map(2);
  map.put("a", 1);
  map.put("b", 2);
  ASSERT_NE(map.peek("a"), nullptr);
  EXPECT_EQ(*map.peek("a"), 1);
  map.put("c", 3);
  EXPECT_EQ(map.peek("a"), nullptr);
  EXPECT_NE(map.peek("b"), nullptr);
}

TEST(LruMap, ListsTheLastUsedFirst) {
  LruMap<int> map(3);
  for (const char* key : {"a", "b", "c"}) map.put(key, 0);
  map.find("a");
  std::string order;
  for (const auto& [key, value] : map.entries()) order += key;
  EXPECT_EQ(order, "acb");
}

TEST(LruMap, HoldsAtLeastOne) {
  LruMap<int> map(0);
  map.put("a", 1);
  map.put("b", 2);
  EXPECT_EQ(map.size(), 1U);
  EXPECT_NE(map.find("b"), nullptr);
}

}  // namespace
}  // namespace stowage::base
