// Nodes with a silent agent.
#include <gtest/gtest.h>

#include "core/engine/engine.h"
#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::node;
using testing::pod;

Engine engine_that(SilentNodes way) {
  PolicyOptions policy = testing::policy("first");
  Engine engine({policy}, {.silent_nodes = way});
  testing::add(engine, node("a").cards(2));
  testing::add(engine, node("b").cards(2));
  return engine;
}

std::string node_for(Engine& engine, const PodSpec& spec) {
  return testing::place(engine, spec).node;
}

TEST(Silence, IsIgnoredWithUse) {
  Engine engine = engine_that(SilentNodes::use);
  (void)engine.handle(NodeSilent{"a", true}, {});
  EXPECT_EQ(node_for(engine, pod("p").gpus(1)), "a");
}

TEST(Silence, OthersArePreferred) {
  Engine engine = engine_that(SilentNodes::avoid);
  (void)engine.handle(NodeSilent{"a", true}, {});
  EXPECT_EQ(node_for(engine, pod("p").gpus(2)), "b");
  EXPECT_EQ(node_for(engine, pod("q").gpus(1)), "a") << "there is no other";
  (void)engine.handle(PodGone{"p"}, {});
  (void)engine.handle(NodeSilent{"a", false}, {});
  EXPECT_EQ(node_for(engine, pod("r").gpus(1)), "a");
}

TEST(Silence, NewPodsAreRefusedUntilTheAgentReportsAgain) {
  Engine engine = engine_that(SilentNodes::refuse);
  (void)engine.handle(NodeSilent{"a", true}, {});
  (void)engine.handle(NodeSilent{"b", true}, {});
  (void)engine.handle(NodeSilent{"nowhere", true}, {});
  EXPECT_TRUE(engine.handle(PodPending{pod("p").gpus(1)}, {}).size() == 1);
  (void)engine.handle(NodeChanged{node("a").cards(2).cpu_milli(1000)}, {});
  EXPECT_EQ(node_for(engine, pod("q").gpus(1)), "") << "another state of the node is no word";
  PodSpec brave = pod("brave").gpus(1);
  brave.rules.tolerations = {{.key = kSilentTaint, .op = Toleration::Op::exists}};
  EXPECT_EQ(node_for(engine, brave), "a");
  const Commands commands = engine.handle(NodeSilent{"b", false}, {});
  ASSERT_EQ(commands.size(), 1U) << "the one that waits is placed";
  EXPECT_EQ(std::get<Bind>(commands.front()).node, "b");
}

TEST(Silence, ANodeThatComesAfterItsAgentFellSilent) {
  Engine engine = engine_that(SilentNodes::refuse);
  (void)engine.handle(NodeSilent{"c", true}, {});
  (void)engine.handle(NodeGone{"a"}, {});
  (void)engine.handle(NodeGone{"b"}, {});
  testing::add(engine, node("c").cards(2));
  EXPECT_EQ(node_for(engine, pod("p").gpus(1)), "");
  (void)engine.handle(NodeSilent{"c", false}, {});
  EXPECT_EQ(node_for(engine, pod("q").gpus(1)), "c");
}

}  // namespace
}  // namespace stowage::core
