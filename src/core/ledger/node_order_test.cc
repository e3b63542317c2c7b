#include "core/ledger/node_order.h"

#include <string>

#include <gtest/gtest.h>

namespace stowage::core {
namespace {

void expect_ranked_by_name(const NodeOrder& order) {
  std::uint32_t last = 0;
  for (const auto& [name, node] : order.by_name()) {
    EXPECT_GT(order.rank(node), last) << name;
    last = order.rank(node);
  }
}

TEST(NodeOrder, RanksByNameInWhateverOrderNodesCome) {
  NodeOrder order;
  order.add("c", NodeIndex(0U));
  order.add("a", NodeIndex(1U));
  order.add("b", NodeIndex(2U));
  expect_ranked_by_name(order);
  EXPECT_EQ(order.ranks().size(), 3U);
}

// Each name lies between the previous one and the last one, until no rank is free between them.
TEST(NodeOrder, RelabelsWhereAGapIsFull) {
  NodeOrder order;
  order.add("z", NodeIndex(0U));
  std::string name = "a";
  for (std::uint32_t i = 1; i <= 40; ++i) {
    name += "a";
    order.add(name, NodeIndex(i));
  }
  expect_ranked_by_name(order);
  EXPECT_GT(order.version(), 1U + 41U) << "each comer counts, and each relabelling";
}

TEST(NodeOrder, AGivenRankStaysUntilItIsTakenAway) {
  NodeOrder order;
  order.add("a", NodeIndex(0U));
  order.add("b", NodeIndex(1U));
  const std::uint32_t by_name = order.rank(NodeIndex(0U));
  order.set_rank("a", 900'000);
  const std::uint64_t version = order.version();
  EXPECT_EQ(order.rank(NodeIndex(0U)), 900'000U);
  order.set_rank("a", 900'000);
  EXPECT_EQ(order.version(), version) << "nothing is new";
  order.set_rank("a", std::nullopt);
  EXPECT_EQ(order.version(), version + 1);
  EXPECT_EQ(order.rank(NodeIndex(0U)), by_name);
  order.set_rank("a", std::nullopt);
  EXPECT_EQ(order.version(), version + 1);
}

TEST(NodeOrder, AnIndexIsUsedAgainByName) {
  NodeOrder order;
  order.add("b", NodeIndex(0U));
  order.set_rank("b", 7);
  order.remove("b");
  EXPECT_TRUE(order.by_name().empty());
  order.add("c", NodeIndex(0U));
  EXPECT_NE(order.rank(NodeIndex(0U)), 7U);
  const std::uint64_t version = order.version();
  order.set_rank("c", std::nullopt);
  EXPECT_EQ(order.version(), version) << "the rank that was given went with the node";
}

}  // namespace
}  // namespace stowage::core
