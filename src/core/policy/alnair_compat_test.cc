// `binpack` and `spread` for pods that request only card memory: nodes are ordered by memory in
// use. Requests and cards are in GiB, as users of Alnair write them.
#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::core::testing {
namespace {

using Gib = std::vector<std::int32_t>;
constexpr std::int32_t kMibPerGib = 1024;

// One container per number; 0 asks for no card.
PodSpec asking(const Gib& containers) {
  PodBuilder result = pod("p");
  for (std::size_t i = 0; i < containers.size(); ++i) {
    result.container("c" + std::to_string(i));
    if (containers[i] > 0) result.memory_mib(containers[i] * kMibPerGib);
  }
  return result;
}

// Adds a node with cards of 16 GiB and this much of them in use.
void add_node(Engine& engine, const std::string& name, const Gib& used) {
  add(engine, node(name).cards(used.size()).memory_mib(16 * kMibPerGib));
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i] == 0) continue;
    const Use use{.memory_mib = used[i] * kMibPerGib};
    occupy(engine, name, static_cast<std::uint32_t>(i), use);
  }
}

TEST(MemoryCards, HoldWhatTheyHaveLeft) {
  struct Row {
    std::string name;
    Gib used;
    Gib asked;
    std::string cards;
  };
  const std::vector<Row> rows{
      {"an empty node gives its first card", {0, 0}, {4}, "0"},
      {"a card that is too full is passed over", {13, 0}, {4}, "1"},
      {"no card is large enough", {0}, {17}, "none"},
      {"two containers fill one card", {0}, {8, 8}, "0|0"},
      {"two containers exceed one card", {0}, {8, 9}, "none"},
      {"memory in use counts on every card", {13, 13}, {4}, "none"},
  };
  for (const Row& row : rows) {
    Engine engine = engine_with("binpack");
    add_node(engine, "n", row.used);
    EXPECT_EQ(place(engine, asking(row.asked)).cards_text(), row.cards) << row.name;
  }
}

TEST(MemoryNodes, WithoutCardsTakeOnlyPodsWithoutGpu) {
  for (const std::string policy_name : {"binpack", "spread"}) {
    Engine engine = engine_with(policy_name, {node("plain")});
    const Placed refused = place(engine, asking({4}));
    ASSERT_TRUE(refused.refusal.has_value()) << policy_name;
    EXPECT_EQ(refused.refusal->counts.at(0).code, ReasonCode::no_cards) << policy_name;
    EXPECT_EQ(place(engine, asking({0})).text(), "plain -") << policy_name;
  }
}

TEST(MemoryNodes, GoByMemoryInUse) {
  for (const std::string policy_name : {"binpack", "spread"}) {
    Engine engine = engine_with(policy_name);
    add_node(engine, "empty", {0, 0});
    add_node(engine, "four", {4, 0});
    add_node(engine, "ten", {5, 5});
    add_node(engine, "ten-too", {10, 0});
    EXPECT_EQ(node_order(engine, asking({6})),
              policy_name == "binpack" ? "ten ten-too four empty" : "empty four ten ten-too");
  }
}

// A container without a request does not hide what the others hold.
TEST(MemoryNodes, CountPodsWithIdleContainers) {
  Engine engine = engine_with("binpack");
  add_node(engine, "a", {4, 0});
  add_node(engine, "b", {0, 0});
  const PodSpec mixed = pod("mixed").container("gpu").memory_mib(10 * kMibPerGib).container("idle");
  const Assignment cards{.containers = {{{.card = 0, .memory_mib = 10 * kMibPerGib}}, {}}};
  (void)engine.handle(PodSeenBound{.pod = mixed, .node = "b", .cards = named(engine, "b", cards)},
                      base::Instant{});
  EXPECT_EQ(node_order(engine, asking({1})), "b a");
}

}  // namespace
}  // namespace stowage::core::testing
