// Pods with several containers: the cards they get when the greedy choice fails.
#include "core/place/containers.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/explain/render.h"
#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::engine_with;
using testing::node;
using testing::place;
using testing::pod;

TEST(Containers, APoorFirstChoiceIsTakenBack) {
  Engine engine = engine_with("first", {node("n").cards(2)});
  testing::occupy(engine, "n", 1, {.milli = 100});
  // Greedy would put the share on card 0, the only wholly free card.
  EXPECT_EQ(place(engine, pod("p").container("a").milli(500).container("b").gpus(1)).text(),
            "n 1|0");
}

TEST(Containers, EveryContainerHasItsOwnCardsUnlessTheyFitTogether) {
  Engine engine = engine_with("first", {node("n").cards(2)});
  EXPECT_EQ(place(engine, pod("p").container("a").milli(600).container("b").milli(600)).text(),
            "n 0|1");
  testing::end(engine, "p");
  EXPECT_EQ(place(engine, pod("p").container("a").milli(400).container("b").milli(600)).text(),
            "n 0|0");
  testing::end(engine, "p");
  EXPECT_EQ(place(engine, pod("p").container("a").gpus(2).container("b").milli(1)).text(), "none");
}

// Requests above the total are refused without a search. Init containers reuse cards of the others.
TEST(Containers, MoreThanTheNodeHasIsRefused) {
  Engine engine = engine_with("first", {node("n").cards(2)});
  EXPECT_EQ(place(engine, pod("p").container("a").gpus(1).container("b").gpus(2)).text(), "none");
  EXPECT_EQ(
      place(engine,
            pod("q").container("a").milli(900).container("b").milli(900).container("c").milli(900))
          .text(),
      "none");
  EXPECT_EQ(
      place(engine,
            pod("r").container("a").milli(900).container("b").milli(900).container("c").milli(100))
          .text(),
      "n 0|1|0");
}

TEST(Containers, StrictWishesHoldInTheSearchToo) {
  Engine engine = engine_with("first", {node("n").cards(2).numa(0).cards(1).numa(1)});
  const PodSpec spec =
      pod("p").container("a").gpus(1).container("b").gpus(2).topology(Topology::numa_strict);
  EXPECT_EQ(place(engine, spec).text(), "n 2|0,1") << "cards 0 and 1 alone are in one NUMA node";
  testing::end(engine, "p");
  const PodSpec twice = pod("p")
                            .container("a")
                            .gpus(2)
                            .topology(Topology::numa_strict)
                            .container("b")
                            .gpus(1)
                            .topology(Topology::link_strict);
  EXPECT_EQ(place(engine, twice).text(), "none") << "nothing is known about links";
}

// The init container asks for more than the app leaves, and uses the app's card before the app
// starts.
TEST(Containers, InitContainersReuseTheCardsOfTheApp) {
  for (const std::string& name : policy_names()) {
    SCOPED_TRACE(name);
    Engine engine = engine_with(name, {node("n").cards(1).memory_mib(1000)});
    const PodSpec spec =
        pod("p").init("i").milli(900).memory_mib(950).container("a").milli(800).memory_mib(900);
    for (int i = 0; i < 20; ++i) {  // long enough to learn the price of memory
      EXPECT_EQ(place(engine, spec).text(), "n 0|0");
      EXPECT_EQ(testing::use_of(engine, "n"), "90/950");
      testing::end(engine, "p");
    }
    const PodSpec whole = pod("p").init("i").gpus(1).container("a").gpus(1);
    EXPECT_EQ(place(engine, whole).text(), "n 0|0");
    testing::end(engine, "p");
    const PodSpec beside = pod("p").init("i").gpus(1).sidecar("s").milli(1).container("a").gpus(1);
    EXPECT_EQ(place(engine, beside).text(), "none") << "the sidecar stays";
  }
}

TEST(Containers, TheSearchEndsWhereThereIsNoEndOfWaysToTry) {
  Engine engine = engine_with("binpack", {node("n").cards(16)});
  for (std::uint32_t card = 0; card < 16; ++card) {
    testing::occupy(engine, "n", card, {.milli = 500});
  }
  testing::PodBuilder many = pod("many");
  for (int i = 0; i < 17; ++i) many.container("c" + std::to_string(i)).milli(400);
  EXPECT_EQ(place(engine, many).text(), "none");
}

// ---- memory that is proportional to compute -----------------------------------------------------

PodSpec with_core(const std::string& name, std::int32_t milli, std::int32_t count = 1) {
  return testing::pod(name).gpus(count).milli(milli).memory_mib(kMemoryWithCore);
}

TEST(MemoryWithCore, SharesThatFillACardFitByTheirMemory) {
  for (const char* policy : {"dual-price", "binpack", "elastic-binpack", "spread"}) {
    SCOPED_TRACE(policy);
    Engine engine = testing::engine_with(policy, {testing::node("n").cards(1).memory_mib(1001)});
    for (const char* uid : {"a", "b", "c"}) {
      const auto placed = testing::place(engine, with_core(uid, 333));
      ASSERT_TRUE(placed.placed());
      EXPECT_EQ(placed.assignment.containers[0][0].memory_mib, 333) << "rounded down";
    }
    EXPECT_EQ(engine.ledger().nodes().cards(engine.ledger().nodes().find("n"))[0].memory_free_mib,
              2);
    EXPECT_TRUE(engine.audit().empty());
  }
}

TEST(MemoryWithCore, ACardWithoutThatMuchMemoryIsLeftAlone) {
  for (const char* policy : {"dual-price", "first"}) {
    SCOPED_TRACE(policy);
    Engine engine = testing::engine_with(policy, {testing::node("n").cards(1).memory_mib(1000)});
    testing::occupy(engine, "n", 0, {.milli = 100, .memory_mib = 700});
    const auto refused = testing::place(engine, with_core("p", 500));
    ASSERT_TRUE(refused.refusal.has_value());
    EXPECT_EQ(
        render(*refused.refusal),
        "0/1 nodes are available: 1 insufficient GPU memory (largest free share 300 MiB; the pod "
        "asks for no memory, so it takes memory in proportion to its compute).");
    EXPECT_TRUE(testing::place(engine, with_core("q", 300)).placed());
  }
}

TEST(MemoryWithCore, IsNoneOnACardOfUnknownMemory) {
  Engine engine = testing::engine_with("first", {testing::node("n").cards(2).memory_mib(0)});
  const auto placed = testing::place(engine, with_core("p", 500, 2));
  ASSERT_TRUE(placed.placed());
  EXPECT_EQ(placed.assignment.containers[0][1].memory_mib, 0);
}

TEST(MemoryWithCore, OnUnnamedCardsItCountsByTheSizeOfEach) {
  Engine engine = testing::engine_with(
      "first", {testing::node("n").cards(1).memory_mib(1000).cards(1).memory_mib(2000)});
  (void)engine.handle(PodSeenBound{.pod = with_core("u", 300), .node = "n", .cards = std::nullopt},
                      {});
  const auto cards = engine.ledger().nodes().cards(engine.ledger().nodes().find("n"));
  EXPECT_EQ(cards[0].memory_free_mib, 700);
  EXPECT_EQ(cards[1].memory_free_mib, 1400);
}

}  // namespace
}  // namespace stowage::core
