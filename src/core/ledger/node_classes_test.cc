#include "core/ledger/node_classes.h"

#include <vector>

#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::core {
namespace {

NodeClass with_cpu(std::int64_t cpu_milli) { return {.cpu_milli = cpu_milli}; }

TEST(NodeClasses, NodesThatDifferALittleAreAlike) {
  NodeSpec a = testing::node("a").cards(2).memory_mib(1000);
  NodeSpec b = testing::node("b").cards(2).memory_mib(1000);
  a.allocatable.cpu_milli = 32'000;
  b.allocatable.cpu_milli = 32'400;
  const std::vector<CardState> ab{{.model = 1}, {.model = 2}};
  const std::vector<CardState> ba{{.model = 2}, {.model = 1}};
  EXPECT_EQ(node_class(a, ab), node_class(b, ba)) << "cards in any order";
  b.allocatable.cpu_milli = 32'500;
  EXPECT_NE(node_class(a, ab), node_class(b, ab));
  b = a;
  b.cards[0].memory_mib = 999;
  EXPECT_NE(node_class(a, ab), node_class(b, ab));
}

TEST(NodeClasses, CountsNodesByNumber) {
  NodeClasses classes;
  EXPECT_EQ(classes.take(with_cpu(500)), 0U);
  EXPECT_EQ(classes.take(with_cpu(1000)), 1U);
  EXPECT_EQ(classes.take(with_cpu(500)), 0U);
  EXPECT_EQ(classes.nodes(), (std::vector<std::size_t>{2, 1}));
  classes.give_back(0);
  EXPECT_EQ(classes.nodes(0), 1U);
  EXPECT_EQ(classes.all()[1], with_cpu(1000));
}

TEST(NodeClasses, BeyondTheLimitUsesWhatIsUnusedThenTheLast) {
  NodeClasses classes;
  for (std::size_t i = 0; i < NodeClasses::kMost; ++i) {
    EXPECT_EQ(classes.take(with_cpu(static_cast<std::int64_t>(i))), i);
  }
  EXPECT_EQ(classes.take(with_cpu(-1)), NodeClasses::kMost - 1);
  EXPECT_EQ(classes.nodes(NodeClasses::kMost - 1), 2U);
  classes.give_back(7);
  EXPECT_EQ(classes.take(with_cpu(-2)), 7U);
  EXPECT_EQ(classes.all()[7], with_cpu(-2));
  EXPECT_EQ(classes.take(with_cpu(7)), NodeClasses::kMost - 1) << "its number is another's now";
}

}  // namespace
}  // namespace stowage::core
