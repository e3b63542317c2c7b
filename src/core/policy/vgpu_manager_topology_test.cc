// Cards in one NUMA node and linked cards, preferred or required, with the card policies `first`,
// `binpack` and `spread`. The expected cards are those of vgpu-manager.
#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::core::testing {
namespace {

// A small share of each of several cards.
PodSpec asking(std::int32_t cards, Topology topology) {
  return pod("p").gpus(cards).milli(100).memory_mib(1000).topology(topology);
}

// ---- NUMA nodes ---------------------------------------------------------------------------------

NodeSpec numa_node(const std::vector<std::int32_t>& numa) {
  NodeBuilder spec = node("n");
  for (const std::int32_t numa_node : numa)
    spec.cards(1).memory_mib(12000).slots(10).numa(numa_node);
  return spec;
}

TEST(Numa, KeepsCardsInOneNode) {
  struct Row {
    std::string name;
    std::vector<std::int32_t> numa;
    Topology topology;
    std::int32_t count;
    std::string cards;
  };
  constexpr auto kStrict = Topology::numa_strict;
  const std::vector<Row> rows{
      {"two cards of one node", {0, 0}, kStrict, 2, "0,1"},
      {"two cards of two nodes", {0, 1}, kStrict, 2, "none"},
      {"two cards of two nodes, as a wish", {0, 1}, Topology::numa, 2, "0,1"},
      {"one card", {0}, kStrict, 1, "0"},
      {"no card", {}, kStrict, 1, "none"},
      {"cards of unknown node", {-1, -1}, kStrict, 1, "none"},
      {"the card whose node is known", {-1, 0}, kStrict, 1, "1"},
      {"cards of unknown node, as a wish", {-1, -1}, Topology::numa, 1, "0"},
      {"no wish at all", {0, 0, 1, 1}, Topology::none, 2, "0,1"},
      {"one card of two nodes", {0, 0, 1, 1}, kStrict, 1, "0"},
      {"one card of two nodes, as a wish", {0, 0, 1, 1}, Topology::numa, 1, "0"},
  };
  for (const Row& row : rows) {
    Engine engine = engine_with("first", {numa_node(row.numa)});
    const Placed placed = place(engine, asking(row.count, row.topology));
    EXPECT_EQ(placed.cards_text(), row.cards) << row.name;
    if (placed.placed() || row.numa.empty()) continue;
    EXPECT_EQ(placed.refusal->counts.at(0).code, ReasonCode::numa) << row.name;
  }
}

TEST(Numa, PacksTheFullerNodeAndSpreadsToTheEmptier) {
  struct Row {
    std::string name;
    std::vector<std::int32_t> tenths;  // of each card in use
    std::string binpack;
    std::string spread;
  };
  const std::vector<Row> rows{
      {"the first is fuller, the second has the fullest card",
       {2, 4, 3, 4, 2, 5, 3, 2},
       "1,3",
       "4,7"},
      {"the second is fuller, the first has the fullest card",
       {2, 5, 3, 2, 2, 4, 3, 4},
       "5,7",
       "0,3"},
  };
  for (const Row& row : rows) {
    for (const std::string policy_name : {"binpack", "spread"}) {
      Engine engine = engine_with(weighted(policy_name), {numa_node({0, 0, 0, 0, 1, 1, 1, 1})});
      for (std::uint32_t card = 0; card < row.tenths.size(); ++card) {
        const std::int32_t tenths = row.tenths[card];
        occupy(engine, "n", card,
               {.milli = tenths * 100, .memory_mib = tenths * 1000, .slots = tenths});
      }
      EXPECT_EQ(place(engine, asking(2, Topology::numa)).cards_text(),
                policy_name == "binpack" ? row.binpack : row.spread)
          << row.name;
    }
  }
}

TEST(Numa, DecidesBetweenNodes) {
  Engine engine = engine_with(
      "first", {node("a-unknown").cards(2), node("b-two").cards(1).numa(0).cards(1).numa(1),
                node("c-one").cards(2).numa(0)});
  EXPECT_EQ(node_order(engine, asking(2, Topology::numa)), "c-one b-two a-unknown");
}

// ---- links --------------------------------------------------------------------------------------

LinkMatrix nvswitch() { return links(8).rest(18 * link::kNvlink); }
LinkMatrix cube() {
  using link::kNvlink;
  return links(8)
      .join(kNvlink, {{0, 1}, {0, 2}, {1, 3}, {2, 6}, {3, 7}, {4, 5}, {4, 6}, {5, 7}})
      .join(2 * kNvlink, {{0, 3}, {0, 4}, {1, 2}, {1, 5}, {2, 3}, {4, 7}, {5, 6}, {6, 7}})
      .rest(link::kCrossCpu);
}
// Four pairs in two halves.
LinkMatrix pairs_joined_by(std::int32_t score) {
  return links(8)
      .join(score, {{0, 1}, {2, 3}, {4, 5}, {6, 7}})
      .within({0, 1, 2, 3}, link::kMultiSwitch)
      .within({4, 5, 6, 7}, link::kMultiSwitch)
      .rest(link::kCrossCpu);
}
LinkMatrix bridged() { return pairs_joined_by(12 * link::kNvlink); }
LinkMatrix switched() { return pairs_joined_by(link::kSingleSwitch); }

struct LinkRow {
  std::string name;
  std::size_t cards;
  LinkMatrix links;  // {}: unknown
  std::vector<std::uint32_t> used;
  std::int32_t count;
  std::string chosen;
};

// Every card has one slot.
void check_links(const std::vector<LinkRow>& rows, Topology topology) {
  for (const LinkRow& row : rows) {
    for (const std::string policy_name : {"first", "binpack", "spread"}) {
      const NodeSpec spec = node("n").cards(row.cards).slots(1).linked(row.links);
      Engine engine = engine_with(weighted(policy_name), {spec});
      for (const std::uint32_t card : row.used) occupy(engine, "n", card, {.milli = 10});
      const Placed placed = place(engine, asking(row.count, topology));
      EXPECT_EQ(placed.cards_text(), row.chosen) << row.name << ", " << policy_name;
      if (!placed.placed()) {
        EXPECT_EQ(placed.refusal->counts.at(0).code, ReasonCode::link) << row.name;
      }
    }
  }
}

TEST(Links, AreAWish) {
  const LinkMatrix two_pairs = links(4).join(link::kNvlink, {{0, 1}, {2, 3}});
  check_links(
      {
          {"all pairs equal: 2 in the order of cards", 8, nvswitch(), {1, 2}, 2, "0,3"},
          {"all pairs equal: 4 in the order of cards", 8, nvswitch(), {1, 2}, 4, "0,3,4,5"},
          {"all pairs equal: 6 in the order of cards", 8, nvswitch(), {1, 2}, 6, "0,3,4,5,6,7"},
          {"four of a cube are one side of it", 8, cube(), {}, 4, "0,1,2,3"},
          {"two of a cube have a double link", 8, cube(), {}, 2, "0,3"},
          {"four of bridged pairs are one half", 8, bridged(), {}, 4, "0,1,2,3"},
          {"two behind one switch", 8, switched(), {}, 2, "0,1"},
          {"four behind switches are one half", 8, switched(), {}, 4, "0,1,2,3"},
          {"cards that are not linked", 4, links(4), {}, 2, "0,1"},
          {"two pairs do not hold three: the order of cards", 4, two_pairs, {}, 3, "0,1,2"},
          {"nothing known of links, 1 card", 4, {}, {}, 1, "0"},
          {"nothing known of links, 2 cards", 4, {}, {}, 2, "0,1"},
          {"one card of a switch", 8, nvswitch(), {}, 1, "0"},
          {"one card of a cube", 8, cube(), {}, 1, "0"},
          {"one card of switched pairs", 8, switched(), {}, 1, "0"},
      },
      Topology::link);
}

TEST(Links, AreACondition) {
  const LinkMatrix pcie_only =
      links(4).join(link::kMultiSwitch, {{0, 1}, {2, 3}}).rest(link::kSameCpu);
  const LinkMatrix one_nvlink = links(4)
                                    .join(link::kNvlink, {{0, 1}})
                                    .join(link::kMultiSwitch, {{2, 3}})
                                    .rest(link::kSameCpu);
  check_links(
      {
          {"two of bridged pairs", 8, bridged(), {}, 2, "0,1"},
          {"four of bridged pairs", 8, bridged(), {}, 4, "none"},
          {"one behind a switch", 8, switched(), {}, 1, "none"},
          {"two behind a switch", 8, switched(), {}, 2, "none"},
          {"cards that are not linked", 4, links(4), {}, 2, "none"},
          {"nothing known of links, 1 card", 4, {}, {}, 1, "none"},
          {"nothing known of links, 2 cards", 4, {}, {}, 2, "none"},
          {"the last card has links to cards in use", 8, nvswitch(), {1, 2, 3, 4, 5, 6, 7}, 1, "0"},
          {"two of a cube", 8, cube(), {}, 2, "0,3"},
          {"four of a cube", 8, cube(), {}, 4, "0,1,2,3"},
          {"all of a cube", 8, cube(), {}, 8, "0,1,2,3,4,5,6,7"},
          {"one card where there is no NVLink", 4, pcie_only, {}, 1, "none"},
          {"two cards where there is no NVLink", 4, pcie_only, {}, 2, "none"},
          {"one card where there is one NVLink", 4, one_nvlink, {}, 1, "0"},
          {"two cards where there is one NVLink", 4, one_nvlink, {}, 2, "0,1"},
      },
      Topology::link_strict);
}

TEST(Links, DecideBetweenNodes) {
  Engine engine =
      engine_with("first", {node("a-unknown").cards(4), node("b-apart").cards(4).linked(links(4)),
                            node("c-far").cards(4).linked(links(4).rest(link::kCrossCpu)),
                            node("d-numa").cards(4).numa(0).linked(links(4).rest(link::kSameCpu)),
                            node("e-switch").cards(4).linked(links(4).rest(link::kSingleSwitch)),
                            node("f-nvlink").cards(4).linked(links(4).rest(link::kNvlink))});
  EXPECT_EQ(node_order(engine, asking(2, Topology::link)),
            "f-nvlink e-switch d-numa c-far b-apart a-unknown");
  EXPECT_EQ(node_order(engine, asking(2, Topology::none)),
            "a-unknown b-apart c-far d-numa e-switch f-nvlink");
}

}  // namespace
}  // namespace stowage::core::testing
