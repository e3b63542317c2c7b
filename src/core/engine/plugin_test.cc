// Nodes whose device plugin is not registered with the kubelet.
#include <gtest/gtest.h>

#include "core/engine/engine.h"
#include "core/explain/render.h"
#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::node;
using testing::pod;

Engine engine_with_two_nodes() {
  Engine engine({testing::policy("first")}, EngineOptions{});
  testing::add(engine, node("a").cards(2));
  testing::add(engine, node("b").cards(2));
  return engine;
}

std::string node_for(Engine& engine, const PodSpec& spec) {
  return testing::place(engine, spec).node;
}

TEST(PluginMissing, PodsWithCardsGoElsewhere) {
  Engine engine = engine_with_two_nodes();
  (void)engine.handle(PluginMissing{"a", true}, {});
  EXPECT_EQ(node_for(engine, pod("p").gpus(1)), "b");
  EXPECT_EQ(node_for(engine, pod("plain").cpu_milli(100)), "a") << "it needs no plugin";
  (void)engine.handle(NodeChanged{node("a").cards(3)}, {});
  EXPECT_EQ(node_for(engine, pod("q").gpus(1)), "b") << "another state of the node is no word";
  (void)engine.handle(PluginMissing{"a", false}, {});
  EXPECT_EQ(node_for(engine, pod("r").gpus(1)), "a");
}

TEST(PluginMissing, TheRefusalSaysItAndEndsWithIt) {
  Engine engine = engine_with_two_nodes();
  (void)engine.handle(PluginMissing{"a", true}, {});
  (void)engine.handle(PluginMissing{"b", true}, {});
  const Commands refused = engine.handle(PodPending{pod("p").gpus(1)}, {});
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(render(std::get<Refuse>(refused.front()).refusal),
            "0/2 nodes are available: 2 node(s) had a device plugin that is not registered with "
            "the kubelet.");
  const Commands placed = engine.handle(PluginMissing{"b", false}, {});
  ASSERT_EQ(placed.size(), 1U) << "the one that waits is placed";
  EXPECT_EQ(std::get<Bind>(placed.front()).node, "b");
  EXPECT_TRUE(engine.handle(PluginMissing{"b", false}, {}).empty());
  EXPECT_TRUE(engine.handle(PluginMissing{"nowhere", true}, {}).empty());
}

// A pod that could only go to this node by evictions evicts none: its turn comes with the plugin.
TEST(PluginMissing, NobodyIsEvictedForIt) {
  Engine engine({testing::policy("first")}, EngineOptions{});
  testing::add(engine, node("a").cards(1));
  EXPECT_EQ(node_for(engine, pod("low").gpus(1)), "a");
  (void)engine.handle(BindDone{"low"}, {});
  (void)engine.handle(PluginMissing{"a", true}, {});
  PodSpec high = pod("high").gpus(1);
  high.priority = 100;
  const Commands commands = engine.handle(PodPending{high}, {});
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Refuse>(commands.front()));
}

TEST(PluginMissing, AnExtendersFilterIsToldTheSame) {
  Engine engine = engine_with_two_nodes();
  (void)engine.handle(PluginMissing{"a", true}, {});
  Commands out;
  const FilterRequest ask{.pod = pod("p").gpus(1), .nodes = {"a", "b"}};
  const FilterAnswer answer = engine.filter(ask, {}, out);
  EXPECT_EQ(answer.fits, std::vector<std::uint32_t>{1});
  ASSERT_EQ(answer.refused.size(), 1U);
  EXPECT_EQ(answer.refused.front().reason.code, ReasonCode::plugin);
}

}  // namespace
}  // namespace stowage::core
