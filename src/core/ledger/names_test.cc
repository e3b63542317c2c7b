// Names that nodes and pods use. They are numbered only while nodes have them; pods never add any.
#include <string>

#include <gtest/gtest.h>

#include "core/engine/engine.h"
#include "core/explain/render.h"
#include "core/ledger/ledger.h"
#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::engine_with;
using testing::node;
using testing::pod;

std::string name(int i) { return "example.com/r" + std::to_string(i); }

// Regression: after 70,000 names, all further resources were treated as one.
TEST(Names, ManyNamesOfPodsTakeNoNumbers) {
  Engine engine = engine_with("binpack", {node("a").cards(1)});
  for (int i = 0; i < 1100; ++i) {
    PodSpec hostile = pod("h" + std::to_string(i)).gpus(1);
    for (int n = 0; n < 64; ++n) hostile.containers[0].resources.extended[name(i * 64 + n)] = 1;
    (void)engine.handle(PodPending{hostile}, {});
    (void)engine.handle(PodGone{hostile.uid}, {});
  }
  EXPECT_EQ(engine.ledger().names().resources().size(), 0U);
  (void)engine.handle(NodeChanged{node("b").cards(1).extended("example.com/x", 1)}, {});
  (void)engine.handle(NodeChanged{node("c").cards(1).extended("example.com/y", 50)}, {});
  const auto refused = engine.handle(PodPending{pod("p").extended("example.com/x", 50)}, {});
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Refuse>(refused[0]));
  const auto bound = engine.handle(PodPending{pod("q").extended("example.com/y", 50)}, {});
  ASSERT_EQ(bound.size(), 1U);
  EXPECT_EQ(std::get<Bind>(bound[0]).node, "c");
}

TEST(Names, RefusalNamesTheResourceThatNoNodeOffers) {
  Engine engine = engine_with("binpack", {node("a").extended("example.com/there", 4)});
  const auto commands = engine.handle(
      PodPending{pod("p").extended("example.com/there", 1).extended("example.com/nowhere", 1)}, {});
  ASSERT_EQ(commands.size(), 1U);
  const std::string words = sentence(std::get<Refuse>(commands[0]).refusal);
  EXPECT_NE(words.find("example.com/nowhere"), std::string::npos) << words;
  EXPECT_EQ(words.find("example.com/there"), std::string::npos) << words;
}

// Shapes are cached with the numbers of their resources.
TEST(Names, APodWaitsUntilANodeOffersWhatItAsksFor) {
  Engine engine = engine_with("binpack", {node("a")});
  (void)engine.handle(PodPending{pod("p").extended("example.com/x", 2)}, {});
  (void)engine.handle(NodeChanged{node("b").extended("example.com/other", 9)}, {});
  const auto commands = engine.handle(NodeChanged{node("c").extended("example.com/x", 2)}, {});
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(std::get<Bind>(commands[0]).node, "c");
}

TEST(Names, AFreedNumberMeansNothingToPodsThatWereChargedByIt) {
  Engine engine = engine_with("binpack", {node("a").extended("example.com/x", 2)});
  PodSpec user = pod("user").extended("example.com/x", 2);
  (void)engine.handle(PodSeenBound{user, "a", std::nullopt}, {});
  (void)engine.handle(NodeChanged{node("a")}, {});  // a device plugin restarts
  EXPECT_EQ(engine.ledger().names().resources().size(), 0U);
  (void)engine.handle(NodeChanged{node("b").extended("example.com/y", 2)}, {});
  (void)engine.handle(NodeChanged{node("a").extended("example.com/y", 2)}, {});
  EXPECT_TRUE(engine.audit().empty());
  EXPECT_EQ(engine.handle(PodPending{pod("p").extended("example.com/y", 2)}, {}).size(), 1U);
  (void)engine.handle(
      NodeChanged{node("a").extended("example.com/x", 2).extended("example.com/y", 2)}, {});
  const auto none = engine.handle(PodPending{pod("q").extended("example.com/x", 1)}, {});
  ASSERT_EQ(none.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Refuse>(none[0])) << "the user of x still has both";
  EXPECT_TRUE(engine.audit().empty());
  (void)engine.handle(PodGone{"user"}, {});
  EXPECT_TRUE(engine.audit().empty());
}

// A pod that others bound is charged for all resources that nodes offer, however many names it has.
TEST(Names, BoundPodsWithManyNamesAreCharged) {
  Engine engine = engine_with("binpack", {node("a").extended("example.com/x", 2)});
  PodSpec hostile = pod("h").extended("example.com/x", 1);
  for (int n = 0; n < 200; ++n) hostile.containers[0].resources.extended[name(n)] = 1;
  (void)engine.handle(PodSeenBound{hostile, "a", std::nullopt}, {});
  const PodIndex there = engine.ledger().pods().find("h");
  EXPECT_EQ(engine.ledger().pods().record(there).resources.extended.size(), 1U);
  const std::uint32_t number = engine.ledger().names().resources().find("example.com/x");
  EXPECT_EQ(engine.ledger().nodes().record(engine.ledger().nodes().find("a")).extended_free(number),
            1);
  const std::uint64_t changes = engine.ledger().changes().count();
  (void)engine.handle(PodSeenBound{hostile, "a", std::nullopt}, {});
  EXPECT_EQ(engine.ledger().changes().count(), changes) << "nothing is new";
  EXPECT_TRUE(engine.audit().empty());
}

TEST(Names, ADryRunCopiesNoNames) {
  Ledger ledger;
  NodeSpec a = node("a").cards(2).model("T4").extended("example.com/x", 3);
  const NodeIndex index = ledger.upsert_node(a);
  const Ledger alone = ledger.without(index, {});
  EXPECT_EQ(&alone.names().models().names(), &ledger.names().models().names());
  EXPECT_EQ(alone.names().resources().find("example.com/x"),
            ledger.names().resources().find("example.com/x"));
  EXPECT_TRUE(alone.audit().empty());
  EXPECT_TRUE(ledger.audit().empty());
}

// A node that reports new models again and again.
TEST(Names, ModelsThatNoCardHasGiveTheirNumbersBack) {
  Ledger ledger;
  (void)ledger.upsert_node(node("honest").cards(1).model("A100"));
  const auto kept = ledger.nodes().cards(ledger.nodes().find("honest"))[0].model;
  for (int i = 0; i < 70'000; ++i) {
    (void)ledger.upsert_node(node("a").cards(2).model("m" + std::to_string(i)).memory_mib(i));
  }
  EXPECT_LE(ledger.names().models().names().size(), ModelNames::kRoomy + 2);
  EXPECT_LE(ledger.names().memory().sizes().size(), MemorySizes::kMost);
  EXPECT_EQ(ledger.names().models().names()[kept], "A100");
  const NodeIndex a = ledger.nodes().find("a");
  EXPECT_EQ(ledger.names().models().names()[ledger.nodes().cards(a)[1].model], "m69999");
  EXPECT_EQ(ledger.names().memory().sizes()[ledger.nodes().cards(a)[1].memory_class], 69'999);
  EXPECT_LE(ledger.classes().all().size(), 4096U);
  EXPECT_EQ(ledger.classes().all()[ledger.nodes().state(a).node_class].models,
            (std::vector<std::uint16_t>(2, ledger.nodes().cards(a)[1].model)));
  EXPECT_TRUE(ledger.audit().empty());
}

TEST(Names, AShapeForgetsWhatANumberMeantBefore) {
  Engine engine = engine_with("binpack", {node("b").cards(1).model("T4")});
  for (int i = 0; i < 3000; ++i) {
    (void)engine.handle(NodeChanged{node("a").cards(1).model("m" + std::to_string(i))}, {});
    if (i % 500 != 0) continue;
    PodSpec picky = pod("p" + std::to_string(i)).gpus(1);
    picky.containers[0].gpu.filter.models_any = {"m2999"};
    const auto commands = engine.handle(PodPending{picky}, {});
    ASSERT_EQ(commands.size(), 1U);
    EXPECT_TRUE(std::holds_alternative<Refuse>(commands[0])) << i;
  }
  PodSpec picky = pod("last").gpus(1);
  picky.containers[0].gpu.filter.models_any = {"m2999"};
  EXPECT_TRUE(engine.ledger().audit().empty());
  const NodeIndex a = engine.ledger().nodes().find("a");
  EXPECT_EQ(engine.ledger().nodes().pods_on(a).size(), 1U) << "the first that waited is placed";
}

}  // namespace
}  // namespace stowage::core
