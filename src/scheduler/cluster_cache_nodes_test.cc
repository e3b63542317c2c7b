// Nodes that cannot be read.
#include <gtest/gtest.h>

#include "dialect/dialect.h"
#include "scheduler/cluster_cache.h"

namespace stowage::scheduler {
namespace {

dialect::NodeObject readable_node(const std::string& name) {
  dialect::NodeObject node;
  node.name = node.uid = name;
  node.allocatable = {{"cpu", *base::Quantity::parse("64")},
                      {"pods", *base::Quantity::parse("110")},
                      {"nvidia.com/gpu", *base::Quantity::parse("4")}};
  node.capacity = node.allocatable;
  return node;
}
dialect::NodeObject senseless_node(const std::string& name, const char* cpu = "-1") {
  auto node = readable_node(name);
  node.allocatable["cpu"] = *base::Quantity::parse(cpu);
  return node;
}

class ClusterCacheNodesTest : public ::testing::Test {
 protected:
  void see(const std::vector<dialect::NodeObject>& nodes) {
    for (const auto& node : nodes) cluster_cache_.upsert_node(node);
  }
  std::string events() {
    std::string text;
    const auto taken = event_queue_.take_now(100);
    for (const auto& message : *taken) {
      const auto& event = std::get<core::Event>(message);
      if (const auto* e = std::get_if<core::NodeChanged>(&event)) text += e->node.name + ";";
      if (const auto* e = std::get_if<core::NodeGone>(&event)) text += "no " + e->name + ";";
    }
    return text;
  }

  EventQueue event_queue_;
  std::vector<Notice> notices_;
  ClusterCache cluster_cache_{
      built_in_profiles(),
      event_queue_,
      [this](const Notice& notice) { notices_.push_back(notice); },
      {.unix_nanos = [] { return std::int64_t{1}; }, .now = [] { return base::Instant{}; }}};
};

// Pods are charged to its cards, and reservations there still count.
TEST_F(ClusterCacheNodesTest, ANodeThatMakesNoSenseAnyMoreStaysAsItWas) {
  std::string cards;
  cluster_cache_.on_cards([&](const std::string& node, const NodeCache::Cards* now) {
    cards += node + (now == nullptr ? " has gone;" : ";");
  });
  see({readable_node("a"), readable_node("b")});
  EXPECT_EQ(events(), "a;b;");
  cluster_cache_.upsert_node(senseless_node("a"));
  EXPECT_EQ(events(), "");
  ASSERT_NE(cluster_cache_.nodes().find("a"), nullptr);
  EXPECT_EQ(cluster_cache_.nodes().find("a")->cards.size(), 4U);
  EXPECT_EQ(cards, "a;b;");
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_EQ(notices_[0].kind, Notice::Kind::node);
  EXPECT_EQ(notices_[0].name, "a");
  EXPECT_EQ(notices_[0].text, "node a: allocatable cpu is -1; its last known state is kept");
  see({senseless_node("a")});
  EXPECT_EQ(events(), "");
  EXPECT_EQ(notices_.size(), 1U) << "told once";
  EXPECT_EQ(cluster_cache_.sizes().unread_nodes, 1U);
  cluster_cache_.upsert_node(senseless_node("a", "-2"));
  EXPECT_EQ(notices_.size(), 2U);
  cluster_cache_.upsert_node(readable_node("a"));
  EXPECT_EQ(events(), "a;");
  EXPECT_EQ(cluster_cache_.sizes().unread_nodes, 0U);
}

TEST_F(ClusterCacheNodesTest, OneThatGoesIsGoneThoughItMadeNoSense) {
  see({readable_node("a"), readable_node("b")});
  (void)events();
  cluster_cache_.upsert_node(senseless_node("a"));
  cluster_cache_.upsert_node(senseless_node("b"));
  cluster_cache_.upsert_node(senseless_node("never-read"));
  EXPECT_EQ(cluster_cache_.sizes().nodes, 2U);
  EXPECT_EQ(cluster_cache_.sizes().unread_nodes, 3U);
  cluster_cache_.remove_node("a");
  EXPECT_EQ(events(), "no a;");
  cluster_cache_.remove_node("b");
  cluster_cache_.remove_node("never-read");
  EXPECT_EQ(events(), "no b;");
  EXPECT_EQ(cluster_cache_.sizes().unread_nodes, 0U);
}

TEST_F(ClusterCacheNodesTest, OneThatCannotBeReadIsCountedUntilItGoes) {
  see({readable_node("a")});
  (void)events();
  cluster_cache_.mark_node_unreadable("a");
  cluster_cache_.mark_node_unreadable("never-read");
  cluster_cache_.mark_node_unreadable("");
  EXPECT_EQ(cluster_cache_.sizes().unread_nodes, 2U);
  ASSERT_NE(cluster_cache_.nodes().find("a"), nullptr);
  EXPECT_EQ(cluster_cache_.nodes().find("never-read"), nullptr);
  cluster_cache_.remove_node("never-read");
  see({readable_node("a")});
  EXPECT_EQ(events(), "a;");
  EXPECT_EQ(cluster_cache_.sizes().unread_nodes, 0U);
}

}  // namespace
}  // namespace stowage::scheduler
