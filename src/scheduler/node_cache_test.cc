#include "scheduler/node_cache.h"

#include <gtest/gtest.h>

namespace stowage::scheduler {
namespace {

dialect::NodeObject node_with(const std::string& name, const char* gpus, const char* cpu = "64") {
  dialect::NodeObject node;
  node.name = name;
  node.allocatable = {{"cpu", *base::Quantity::parse(cpu)},
                      {"pods", *base::Quantity::parse("110")},
                      {"nvidia.com/gpu", *base::Quantity::parse(gpus)}};
  node.capacity = node.allocatable;
  return node;
}

TEST(NodeCache, SaysWhetherTheCardsChanged) {
  NodeCache nodes;
  auto update = nodes.update(node_with("a", "2"));
  ASSERT_TRUE(update.now);
  EXPECT_EQ(update.now->name, "a");
  EXPECT_TRUE(update.cards_changed) << "it is new";
  update = nodes.update(node_with("a", "2", "32"));
  EXPECT_TRUE(update.now);
  EXPECT_FALSE(update.cards_changed);
  update = nodes.update(node_with("a", "4"));
  EXPECT_TRUE(update.cards_changed);
  ASSERT_NE(nodes.find("a"), nullptr);
  EXPECT_EQ(nodes.find("a")->cards.size(), 4U);
  EXPECT_TRUE(nodes.find("a")->labels.empty()) << "the engine keeps them";
  (void)nodes.update(node_with("b", "0"));
  EXPECT_TRUE(nodes.update(node_with("c", "0")).cards_changed) << "a new one without cards";
  const auto cards = nodes.all_cards();
  ASSERT_EQ(cards.size(), 3U);
  EXPECT_EQ(cards.at("a").size(), 4U);
  EXPECT_EQ(cards.at("b").size(), 0U);
}

TEST(NodeCache, ANodeThatMakesNoSenseStaysAsItWasAndIsToldOnce) {
  NodeCache nodes;
  (void)nodes.update(node_with("a", "2"));
  auto update = nodes.update(node_with("a", "2", "-1"));
  EXPECT_FALSE(update.now);
  EXPECT_NE(update.notice.find("its last known state is kept"), std::string::npos);
  EXPECT_EQ(nodes.update(node_with("a", "2", "-1")).notice, "");
  EXPECT_NE(nodes.update(node_with("a", "2", "-2")).notice, "");
  EXPECT_EQ(nodes.find("a")->cards.size(), 2U);
  EXPECT_EQ(nodes.unreadable(), 1U);
  update = nodes.update(node_with("a", "2"));
  EXPECT_TRUE(update.now);
  EXPECT_EQ(nodes.unreadable(), 0U);
}

TEST(NodeCache, UnreadableNodesAreCountedUntilTheyGo) {
  NodeCache nodes;
  (void)nodes.update(node_with("a", "2"));
  nodes.mark_unreadable("a");
  nodes.mark_unreadable("b");
  nodes.mark_unreadable("");
  EXPECT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes.unreadable(), 2U);
  EXPECT_FALSE(nodes.erase("b")) << "the engine was never told of it";
  EXPECT_TRUE(nodes.erase("a"));
  EXPECT_FALSE(nodes.erase("a"));
  EXPECT_EQ(nodes.unreadable(), 0U);
  EXPECT_EQ(nodes.find("a"), nullptr);
}

TEST(NodeCache, KeepsWhatNodesOfferAndWhichHaveARecord) {
  NodeCache nodes;
  EXPECT_EQ(nodes.offer("a"), nullptr);
  dialect::NodeObject node = node_with("a", "2");
  node.resource_version = "7";
  node.capacity["nano-gpu/gpu-percent"] = *base::Quantity::parse("200");
  (void)nodes.update(node);
  ASSERT_NE(nodes.offer("a"), nullptr);
  EXPECT_EQ(nodes.offer("a")->resource_version, "7");
  EXPECT_EQ(nodes.offer("a")->capacity, (dialect::NodeAmounts{{"nano-gpu/gpu-percent", 200}}));
  EXPECT_TRUE(nodes.offer("a")->allocatable.empty());
  EXPECT_TRUE(nodes.with_recorded_resources().empty());
  const std::string key(dialect::kNodeResourcesAnnotation);
  node.annotations[key] = "nano-gpu/gpu-percent=200";
  (void)nodes.update(node);
  EXPECT_EQ(nodes.with_recorded_resources(), std::set<std::string>{"a"});
  node.annotations.erase(key);
  (void)nodes.update(node);
  EXPECT_TRUE(nodes.with_recorded_resources().empty());
  node.annotations[key] = "?";
  (void)nodes.update(node);
  EXPECT_EQ(nodes.with_recorded_resources().size(), 1U) << "an unreadable one is removed, too";
  EXPECT_TRUE(nodes.erase("a"));
  EXPECT_TRUE(nodes.with_recorded_resources().empty());
}

TEST(NodeCache, ReadsPodsByTheUnitOfMemoryOfMostNodes) {
  NodeCache nodes;
  const auto unit = [&] { return nodes.reading({}).vgpu_memory_mib; };
  const auto set_unit = [&](const std::string& name, const std::string& mib) {
    auto node = node_with(name, "2");
    node.annotations["nvidia.com/node-config-info"] = R"({"memoryFactor":)" + mib + "}";
    (void)nodes.update(node);
  };
  EXPECT_EQ(unit(), 1) << "as asked";
  set_unit("a", "64");
  EXPECT_EQ(unit(), 64);
  set_unit("b", "128");
  set_unit("c", "128");
  EXPECT_EQ(unit(), 128);
  set_unit("c", "64");
  EXPECT_EQ(unit(), 64);
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(nodes.erase(name));
  EXPECT_EQ(unit(), 1);
}

}  // namespace
}  // namespace stowage::scheduler
