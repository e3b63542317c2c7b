// `most-used`: the node with the most cards in use that still holds the pod; ties go by name.
#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::core::testing {
namespace {

struct Cards {
  std::string node;
  std::size_t all = 0;
  std::uint32_t used = 0;
};

Engine engine_on(const std::vector<Cards>& nodes) {
  Engine engine = engine_with("most-used");
  for (const Cards& cards : nodes) {
    add(engine, node(cards.node).cards(cards.all));
    for (std::uint32_t card = 0; card < cards.used; ++card) {
      occupy(engine, cards.node, card, {.milli = 1000, .memory_mib = 16384});
    }
  }
  return engine;
}

TEST(MostUsed, TakesTheFullestNodeThatFits) {
  struct Row {
    std::string name;
    std::vector<Cards> nodes;
    std::int32_t asked;
    std::string node;
  };
  const std::vector<Cards> three{{"a", 8, 3}, {"b", 8, 5}, {"c", 8, 7}};
  const std::vector<Row> rows{
      {"one card goes to the fullest node", three, 1, "c"},
      {"two cards go to the fullest node that has two", three, 2, "b"},
      {"six cards fit nowhere", three, 6, ""},
      {"empty nodes go by name", {{"b", 8, 0}, {"a", 8, 0}}, 1, "a"},
      {"full nodes take nothing", {{"a", 8, 8}, {"b", 8, 8}}, 1, ""},
      {"cards in use count, not cards that are left", {{"a", 8, 7}, {"b", 16, 9}}, 1, "b"},
      {"a pod without a GPU leaves GPU nodes alone", {{"a", 8, 0}, {"cpu", 0, 0}}, 0, "cpu"},
      {"a pod without a GPU avoids full GPU nodes too", {{"a", 8, 8}, {"cpu", 0, 0}}, 0, "cpu"},
  };
  for (const Row& row : rows) {
    Engine engine = engine_on(row.nodes);
    PodBuilder wants = pod("p").container("main");
    if (row.asked > 0) wants.gpus(row.asked);
    EXPECT_EQ(place(engine, wants).node, row.node) << row.name;
  }
}

TEST(MostUsed, FillsOneNodeBeforeTheNext) {
  Engine engine = engine_on({{"a", 4, 0}, {"b", 4, 0}});
  std::string nodes;
  for (int i = 1; i <= 5; ++i) {
    nodes += place(engine, pod("pod-" + std::to_string(i)).gpus(1)).node;
  }
  EXPECT_EQ(nodes, "aaaab");
}

TEST(MostUsed, DoesNotCountUnhealthyCardsAsUsed) {
  Engine engine =
      engine_with("most-used", {node("a").cards(6).cards(2).unhealthy(), node("b").cards(8)});
  occupy(engine, "b", 0, {.milli = 1000});
  EXPECT_EQ(node_order(engine, pod("p").gpus(1)), "b a");
}

TEST(MostUsed, KeepsARefusedPodUntilItFits) {
  Engine engine = engine_on({{"a", 8, 8}});
  const auto refused = engine.handle(PodPending{pod("p").gpus(1)}, base::Instant{});
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Refuse>(refused[0]));
  const auto bound = engine.handle(PodGone{"held-0"}, base::Instant{});
  ASSERT_EQ(bound.size(), 1U);
  ASSERT_TRUE(std::holds_alternative<Bind>(bound[0]));
  EXPECT_EQ(std::get<Bind>(bound[0]).node, "a");
}

TEST(MostUsed, CountsPodsUntilTheyEnd) {
  Engine engine = engine_on({{"a", 8, 1}, {"b", 8, 0}});
  const std::string holder = occupy(engine, "b", 0, {.milli = 1000});
  occupy(engine, "b", 1, {.milli = 1000});
  EXPECT_EQ(node_order(engine, pod("p").gpus(1)), "b a");
  end(engine, holder);
  EXPECT_EQ(node_order(engine, pod("p").gpus(1)), "a b") << "one card each now: by name";
}

}  // namespace
}  // namespace stowage::core::testing
