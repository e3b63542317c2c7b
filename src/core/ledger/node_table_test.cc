#include "core/ledger/node_table.h"

#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::node;

TEST(NodeTable, ASlotIsUsedAgainWhenNothingHoldsIt) {
  NodeTable nodes;
  const NodeIndex a = nodes.add("a");
  EXPECT_EQ(nodes.add("a"), a);
  EXPECT_EQ(nodes.find("a"), a);
  EXPECT_EQ(nodes.name(a), "a");
  EXPECT_EQ(nodes.count(), 0U) << "it has a slot, and is not there";
  nodes.record(a).pods.emplace_back(0U);
  nodes.drop_if_empty(a);
  EXPECT_TRUE(nodes.find("a").valid());
  nodes.remove_pod(a, PodIndex(0U));
  nodes.drop_if_empty(a);
  EXPECT_FALSE(nodes.find("a").valid());
  EXPECT_EQ(nodes.name(a), "");
  EXPECT_EQ(nodes.add("b"), a);
  EXPECT_EQ(nodes.rows(), 1U);
}

TEST(NodeTable, CountsNodesAndSoftTaints) {
  NodeTable nodes;
  NodeSpec soft = node("a");
  soft.taints.push_back({.key = "k", .effect = TaintEffect::prefer_no_schedule});
  const NodeIndex a = nodes.add("a");
  nodes.set_spec(a, soft);
  nodes.set_spec(a, soft);
  nodes.refresh(a);
  EXPECT_EQ(nodes.count(), 1U);
  EXPECT_EQ(nodes.soft_taints(), 1U);
  EXPECT_TRUE(nodes.present(a));
  nodes.set_gone(a, {.name = "a"});
  nodes.refresh(a);
  EXPECT_EQ(nodes.count(), 0U);
  EXPECT_EQ(nodes.soft_taints(), 0U);
  EXPECT_FALSE(nodes.present(a));
}

TEST(NodeTable, KeepsLabelsWhileTheNodeIsAbsent) {
  NodeTable nodes;
  NodeSpec spec = node("a");
  spec.labels["zone"] = "z";
  const NodeIndex a = nodes.add("a");
  nodes.set_spec(a, spec);
  nodes.set_gone(a, {.name = "a"});
  EXPECT_TRUE(nodes.spec(a).labels.empty());
  EXPECT_EQ(nodes.record(a).labels_last_seen(), spec.labels);
}

// A slot keeps its card rows, so that few rows are wasted.
TEST(NodeTable, CardsOfOneNodeAreContiguous) {
  NodeTable nodes;
  const NodeIndex a = nodes.add("a");
  const NodeIndex b = nodes.add("b");
  nodes.set_card_count(a, 2);
  nodes.set_card_count(b, 4);
  const auto* first = nodes.cards(a).data();
  nodes.set_card_count(a, 1);
  nodes.set_card_count(a, 2);
  EXPECT_EQ(nodes.cards(a).data(), first);
  EXPECT_EQ(nodes.cards(b).data(), first + 2);
  EXPECT_EQ(nodes.cards(b).size(), 4U);
  nodes.set_card_count(a, 3);
  EXPECT_EQ(nodes.cards(a).data(), nodes.cards(b).data() + 4);
}

}  // namespace
}  // namespace stowage::core
