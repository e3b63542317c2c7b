// `first`, `binpack` and `spread` with weights from the request, and init containers. The
// placements are those of vgpu-manager. A request n/c/m is n cards, each with c percent and m MiB;
// 0: not given.
#include <set>

#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::core::testing {
namespace {

struct Want {
  std::int32_t cards = 0;
  std::int32_t percent = 0;
  std::int32_t memory_mib = 0;
};

PodBuilder& ask(PodBuilder& pod, const Want& want) {
  pod.gpus(want.cards);
  if (want.percent > 0) pod.milli(want.percent * 10);
  if (want.memory_mib > 0) pod.memory_mib(want.memory_mib);
  if (want.percent > 0 && want.memory_mib == 0) pod.whole_memory();
  return pod;
}

PodSpec asking(const std::string& name, const std::vector<Want>& containers) {
  PodBuilder result = pod(name);
  for (const Want& want : containers) {
    ask(result.container("cont" + std::to_string(result.size() + 1)), want);
  }
  return result;
}

// Nodes with two cards of 12288 MiB and two of 20480 MiB, each pair in its own NUMA node.
NodeSpec mixed_node(const std::string& name, std::size_t pairs = 2) {
  return node(name)
      .cards(pairs)
      .model("RTX3080Ti")
      .memory_mib(12288)
      .slots(10)
      .numa(0)
      .cards(pairs)
      .model("RTX4080Ti")
      .memory_mib(20480)
      .slots(10)
      .numa(1);
}

Engine four_nodes(std::string_view policy_name) {
  return engine_with(weighted(policy_name), {mixed_node("testnode0"), mixed_node("testnode1"),
                                             mixed_node("testnode2"), mixed_node("testnode3")});
}

void expect_sound(const Engine& engine) {
  EXPECT_TRUE(engine.ledger().audit().empty());
  EXPECT_TRUE(engine.ledger().nodes().debts().empty());
}

TEST(First, TakesNodesAndCardsInTheirOrder) {
  Engine engine = four_nodes("first");
  EXPECT_EQ(place(engine, asking("p1", {{1, 0, 2048}})).text(), "testnode0 0");
  EXPECT_EQ(place(engine, asking("p2", {{1, 101, 0}})).text(), "rejected");
  const PodSpec placed_before = asking("p4", {{1, 10, 2048}});
  const Assignment cards{.containers = {{{.card = 0, .milli = 100, .memory_mib = 2048}}}};
  (void)engine.handle(
      PodSeenBound{
          .pod = placed_before, .node = "testnode1", .cards = named(engine, "testnode1", cards)},
      base::Instant{});
  EXPECT_EQ(use_of(engine, "testnode1"), "10/2048 0/0 0/0 0/0");
  EXPECT_EQ(place(engine, asking("p6", {{2, 10, 2048}})).text(), "testnode0 0,1");
  EXPECT_EQ(place(engine, asking("p7", {{2, 10, 2048}, {2, 10, 2048}})).text(),
            "testnode0 0,1|0,1");
  const Want two_whole{2, 100, 12288};
  EXPECT_EQ(place(engine, asking("p8", {two_whole, two_whole, two_whole})).text(), "none");
  expect_sound(engine);
}

TEST(First, ExplainsWithoutChangingAnything) {
  Engine engine = four_nodes("first");
  EXPECT_EQ(refusing(engine, asking("fits", {{1, 50, 2048}})), "");
  EXPECT_EQ(refusing(engine, asking("large", {{1, 50, 65536}})),
            "testnode0 testnode1 testnode2 testnode3");
  EXPECT_EQ(engine.ledger().pods().count(), 0U);
  EXPECT_EQ(engine.counters().decisions, 0U);
}

TEST(Weighted, NeverOvercommitsACard) {
  for (const std::string policy_name : {"first", "binpack", "spread"}) {
    Engine engine = four_nodes(policy_name);
    int placed = 0;
    for (int i = 0; i < 50; ++i) {
      const PodSpec next = asking("p" + std::to_string(i), {{1, 20, 2048}, {1, 20, 2048}});
      placed += place(engine, next).placed() ? 1 : 0;
    }
    EXPECT_EQ(placed, 40) << policy_name << ": 16 cards of 5 places each for pods of 2";
    expect_sound(engine);
  }
}

struct Filled {
  int placed = 0;
  std::set<std::string> nodes;
};

Filled fill_hundred_nodes(std::string_view policy_name, int pods, Topology topology) {
  Engine engine = engine_with(weighted(policy_name));
  for (int i = 0; i < 100; ++i) add(engine, mixed_node("node-" + std::to_string(i), 4));
  Filled filled;
  for (int i = 0; i < pods; ++i) {
    PodBuilder next = pod("p" + std::to_string(i));
    const Placed placed = place(engine, ask(next, {4, 20, 2048}).topology(topology));
    filled.placed += placed.placed() ? 1 : 0;
    filled.nodes.insert(placed.node);
  }
  expect_sound(engine);
  return filled;
}

TEST(Weighted, FillsAHundredNodesToTheLastPlace) {
  const Filled full = fill_hundred_nodes("binpack", 1000, Topology::link);
  EXPECT_EQ(full.placed, 1000);
  EXPECT_EQ(full.nodes.size(), 100U);
}

TEST(Weighted, BinpackUsesFewNodesAndSpreadMany) {
  const Filled packed = fill_hundred_nodes("binpack", 200, Topology::none);
  const Filled spread = fill_hundred_nodes("spread", 200, Topology::none);
  EXPECT_EQ(packed.placed, 200);
  EXPECT_EQ(spread.placed, 200);
  EXPECT_LE(packed.nodes.size(), 30U);
  EXPECT_LT(packed.nodes.size(), spread.nodes.size());
}

// Four cards per node; card i has i + 1 slots in use.
void add_used(Engine& engine, const NodeSpec& spec, const Use& use) {
  add(engine, spec);
  for (std::uint32_t card = 0; card < spec.cards.size(); ++card) {
    Use with_places = use;
    with_places.slots = static_cast<std::int32_t>(card) + 1;
    occupy(engine, spec.name, card, with_places);
  }
}

// A is empty but reports neither links nor slots; B is half full; C and D are fuller.
Engine unequal_nodes(std::string_view policy_name) {
  Engine engine = engine_with(weighted(policy_name));
  const LinkMatrix joined = links(4).rest(link::kNvlink);
  const auto linked = [&](const std::string& name) {
    return node(name).cards(4).memory_mib(80000).slots(10).linked(joined);
  };
  add_used(engine, node("A").cards(4).memory_mib(80000), {});
  add_used(engine, linked("B"), {.milli = 500, .memory_mib = 40000});
  add_used(engine, linked("C"), {.milli = 800, .memory_mib = 50000});
  add_used(engine, linked("D"), {.milli = 800, .memory_mib = 50000});
  return engine;
}

TEST(Weighted, OrdersNodesByEqualWeights) {
  const PodSpec asks_nothing = pod("p").container("idle");
  Engine spread = unequal_nodes("spread");
  EXPECT_EQ(node_order(spread, asks_nothing), "A B C D");
  Engine packed = unequal_nodes("binpack");
  EXPECT_EQ(node_order(packed, asks_nothing), "C D B A");
}

TEST(Weighted, PacksByTheNodeAfterThePlacementAndSpreadsByTheNodeBefore) {
  for (const std::string policy_name : {"binpack", "spread"}) {
    Engine engine =
        engine_with(weighted(policy_name), {node("large").cards(4).memory_mib(10000).slots(10),
                                            node("small").cards(1).memory_mib(10000).slots(10)});
    occupy(engine, "large", 0, {.memory_mib = 2000});
    EXPECT_EQ(node_order(engine, asking("p", {{1, 0, 5000}})), "small large") << policy_name;
  }
}

TEST(Weighted, PutsNodesThatMeetTheLinkWishFirst) {
  PodBuilder wants = pod("p");
  ask(wants, {2, 20, 20000}).topology(Topology::link);
  Engine packed = unequal_nodes("binpack");
  EXPECT_EQ(node_order(packed, wants), "C D B A");
  Engine spread = unequal_nodes("spread");
  EXPECT_EQ(node_order(spread, wants), "B C D A");
  EXPECT_EQ(node_order(spread, wants.topology(Topology::none)), "A B C D");
}

// ---- init containers ----------------------------------------------------------------------------

struct Container {
  Phase phase = Phase::app;
  Want want;
};

PodSpec in_phases(const std::vector<Container>& containers) {
  PodBuilder result = pod("p");
  for (const Container& container : containers) {
    const std::string name = "cont" + std::to_string(result.size());
    switch (container.phase) {
      case Phase::init: result.init(name); break;
      case Phase::sidecar: result.sidecar(name); break;
      case Phase::app: result.container(name); break;
    }
    ask(result, container.want);
  }
  return result;
}

TEST(InitContainers, ReuseTheCardsOfTheApp) {
  struct Row {
    std::string name;
    std::vector<Container> containers;
    bool fits;
  };
  constexpr auto kInit = Phase::init;
  constexpr auto kApp = Phase::app;
  const std::vector<Row> rows{
      {"init larger than the app", {{kInit, {1, 80, 8000}}, {kApp, {1, 40, 4000}}}, true},
      {"init alone", {{kInit, {1, 60, 6000}}}, true},
      {"a sidecar and the app", {{Phase::sidecar, {1, 20, 2000}}, {kApp, {1, 40, 4000}}}, true},
      {"init on more cards than the app", {{kInit, {2, 50, 5000}}, {kApp, {1, 40, 4000}}}, true},
      {"init larger than any card", {{kInit, {1, 10, 24000}}, {kApp, {1, 10, 1000}}}, false},
      {"init on more cards than a node has", {{kInit, {5, 10, 1000}}}, false},
  };
  for (const Row& row : rows) {
    for (const std::string policy_name : {"first", "binpack", "spread"}) {
      Engine engine = four_nodes(policy_name);
      EXPECT_EQ(place(engine, in_phases(row.containers)).placed(), row.fits) << row.name;
      expect_sound(engine);
    }
  }
}

// The pod's reservation, "card:slots/percent/MiB" for each card.
std::string charges_of(const Engine& engine) {
  std::string text;
  for (const CardCharge& charge :
       engine.ledger().pods().record(engine.ledger().pods().find("p")).charges) {
    text += (text.empty() ? "" : " ") + std::to_string(charge.card) + ":" +
            std::to_string(charge.slots) + "/" + std::to_string(charge.milli / 10) + "/" +
            std::to_string(charge.memory_mib);
  }
  return text;
}

TEST(InitContainers, ReserveTheLargestMoment) {
  struct Row {
    std::string name;
    std::size_t cards;
    std::vector<Container> containers;
    std::string placed;
    std::string reserved;
  };
  constexpr auto kInit = Phase::init;
  constexpr auto kApp = Phase::app;
  constexpr auto kSidecar = Phase::sidecar;
  const std::vector<Row> rows{
      {"the app fits into what init needs",
       1,
       {{kInit, {1, 80, 8000}}, {kApp, {1, 40, 4000}}},
       "0|0",
       "0:1/80/8000"},
      {"two apps together need what init needs",
       1,
       {{kInit, {1, 80, 20000}}, {kApp, {1, 40, 10000}}, {kApp, {1, 40, 10000}}},
       "0|0|0",
       "0:2/80/20000"},
      {"init needs a second card",
       2,
       {{kInit, {2, 50, 8000}}, {kApp, {1, 40, 4000}}},
       "0,1|0",
       "0:1/50/8000 1:1/50/8000"},
      {"init alone", 1, {{kInit, {1, 60, 6000}}}, "0", "0:1/60/6000"},
      {"a sidecar runs beside the app",
       1,
       {{kSidecar, {1, 20, 2000}}, {kApp, {1, 40, 4000}}},
       "0|0",
       "0:2/60/6000"},
      {"apps add up", 1, {{kApp, {1, 30, 3000}}, {kApp, {1, 25, 2000}}}, "0|0", "0:2/55/5000"},
      {"one init after another uses the same card",
       2,
       {{kInit, {1, 50, 5000}}, {kInit, {1, 60, 6000}}},
       "0|0",
       "0:1/60/6000"},
      {"a sidecar, an init and an app",
       1,
       {{kSidecar, {1, 20, 2000}}, {kInit, {1, 50, 5000}}, {kApp, {1, 40, 4000}}},
       "0|0|0",
       "0:2/70/7000"},
  };
  for (const Row& row : rows) {
    for (const std::string policy_name : {"first", "binpack", "spread"}) {
      const NodeSpec spec = node("n").cards(row.cards).memory_mib(24000).slots(10);
      Engine engine = engine_with(weighted(policy_name), {spec});
      EXPECT_EQ(place(engine, in_phases(row.containers)).cards_text(), row.placed)
          << row.name << ", " << policy_name;
      EXPECT_EQ(charges_of(engine), row.reserved) << row.name << ", " << policy_name;
    }
  }
}

}  // namespace
}  // namespace stowage::core::testing
