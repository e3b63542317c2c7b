// `binpack` and `spread` by percent of a card: the cards of containers, and the order of nodes, as
// in nano-gpu.
#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::core::testing {
namespace {

using Percents = std::vector<std::int32_t>;

// Adds a node whose cards have this much free.
void add_node(Engine& engine, const std::string& name, const Percents& free) {
  add(engine, node(name).cards(free.size()));
  for (std::size_t i = 0; i < free.size(); ++i) {
    if (free[i] == 100) continue;
    occupy(engine, name, static_cast<std::uint32_t>(i), {.milli = (100 - free[i]) * 10});
  }
}

Engine one_node(std::string_view policy_name, const Percents& free) {
  Engine engine = engine_with(policy_name);
  add_node(engine, "n", free);
  return engine;
}

// One container per number; 0 asks for no card.
PodSpec asking(const Percents& containers) {
  PodBuilder result = pod("p");
  for (std::size_t i = 0; i < containers.size(); ++i) {
    result.container("c" + std::to_string(i));
    if (containers[i] > 0) result.milli(containers[i] * 10);
  }
  return result;
}

std::int32_t percent_free(const Engine& engine) {
  return engine.ledger().nodes().cards(engine.ledger().nodes().find("n"))[0].milli_free / 10;
}

TEST(Percent, IsTakenIfItFitsAndGivenBack) {
  struct Row {
    std::string name;
    std::int32_t free;
    std::int32_t asked;
    std::int32_t left;
  };
  const std::vector<Row> rows{
      {"most of a card leaves the rest", 100, 80, 20},
      {"a little of a card leaves the rest", 100, 20, 80},
      {"all of a card leaves nothing", 100, 100, 0},
      {"more than a card is refused", 100, 120, 100},
      {"more than is left is refused", 30, 100, 30},
  };
  for (const Row& row : rows) {
    Engine engine = one_node("binpack", {row.free});
    const bool placed = place(engine, asking({row.asked})).placed();
    EXPECT_EQ(placed, row.left != row.free) << row.name;
    EXPECT_EQ(percent_free(engine), row.left) << row.name;
    end(engine, "p");
    EXPECT_EQ(percent_free(engine), row.free) << row.name << ", and comes back";
  }
}

TEST(Percent, OfTwoPodsAddsUp) {
  Engine engine = engine_with("binpack", {node("n").cards(1)});
  const std::string small = occupy(engine, "n", 0, {.milli = 100});
  const std::string large = occupy(engine, "n", 0, {.milli = 800});
  EXPECT_EQ(percent_free(engine), 10);
  end(engine, large);
  EXPECT_EQ(percent_free(engine), 90);
  end(engine, small);
  EXPECT_EQ(percent_free(engine), 100);
}

TEST(FirstFit, PlacesAllContainers) {
  struct Row {
    std::string name;
    Percents free;
    Percents asked;
    bool fits;
  };
  const std::vector<Row> rows{
      {"two halves on two cards", {100, 100}, {50, 50}, true},
      {"two halves on one card", {100}, {50, 50}, true},
      {"more than one card between them", {100}, {50, 60}, false},
      {"a whole card and a little", {100, 100}, {100, 10}, true},
      {"a poor first choice is taken back", {80, 30}, {30, 80}, true},
  };
  for (const Row& row : rows) {
    Engine engine = one_node("binpack/first", row.free);
    EXPECT_EQ(place(engine, asking(row.asked)).placed(), row.fits) << row.name;
  }
}

TEST(FirstFit, CountsMemoryToo) {
  struct Share {
    std::int32_t percent;
    std::int32_t memory;
  };
  struct Row {
    std::string name;
    std::vector<Share> cards;
    std::vector<Share> asked;
    bool fits;
  };
  const std::vector<Row> rows{
      {"two on two cards", {{100, 15}, {100, 15}}, {{50, 7}, {50, 7}}, true},
      {"two on one card", {{100, 15}}, {{50, 7}, {50, 7}}, true},
      {"one MiB too much for one card", {{100, 15}}, {{50, 7}, {50, 9}}, false},
      {"exactly all memory of one card", {{100, 15}}, {{50, 7}, {50, 8}}, true},
      {"too much for one card, not for two", {{100, 15}, {100, 15}}, {{50, 7}, {50, 9}}, true},
      {"too much for any card", {{100, 7}, {100, 7}}, {{50, 7}, {50, 9}}, false},
      {"each fits on the other's card only", {{10, 15}, {100, 15}}, {{100, 7}, {10, 15}}, true},
  };
  for (const Row& row : rows) {
    NodeBuilder spec = node("n");
    for (const Share& card : row.cards) spec.cards(1).memory_mib(card.memory);
    Engine engine = engine_with("binpack/first", {spec});
    for (std::size_t i = 0; i < row.cards.size(); ++i) {
      if (row.cards[i].percent == 100) continue;
      const std::int32_t used = (100 - row.cards[i].percent) * 10;
      occupy(engine, "n", static_cast<std::uint32_t>(i), {.milli = used});
    }
    PodBuilder wants = pod("p");
    for (const Share& share : row.asked) {
      wants.container("c" + std::to_string(share.memory));
      wants.milli(share.percent * 10).memory_mib(share.memory);
    }
    EXPECT_EQ(place(engine, wants).placed(), row.fits) << row.name;
  }
}

// The largest container chooses first; among equals the last one.
TEST(PercentCards, GoToTheFullestOrTheEmptiestCard) {
  struct Row {
    std::string name;
    Percents free;
    Percents asked;
    std::string binpack;
    std::string spread;
  };
  const std::vector<Row> rows{
      {"two containers on empty cards", {100, 100}, {20, 40}, "0|0", "0|1"},
      {"the small one fills a remainder", {20, 100}, {20, 40}, "0|1", "1|1"},
      {"a remainder that is too small stays", {10, 100}, {20, 40}, "1|1", "1|1"},
      {"a container without a card", {100, 100}, {0, 40, 40}, "-|0|0", "-|0|1"},
      {"one container fits and the other does not", {10, 50}, {20, 40}, "none", "none"},
      {"three halves", {100, 100, 100}, {50, 50, 50}, "1|0|0", "0|1|2"},
      {"three unequal cards", {60, 40, 80}, {40, 30}, "1|0", "2|0"},
      {"the last container is too much", {50, 50}, {50, 50, 10}, "none", "none"},
      {"a whole card needs a free card", {99}, {100}, "none", "none"},
  };
  for (const Row& row : rows) {
    Engine packing = one_node("binpack", row.free);
    EXPECT_EQ(place(packing, asking(row.asked)).cards_text(), row.binpack) << row.name;
    Engine spreading = one_node("spread", row.free);
    EXPECT_EQ(place(spreading, asking(row.asked)).cards_text(), row.spread) << row.name;
  }
}

TEST(PercentCards, AreTakenInAscendingOrderOfWhatIsLeft) {
  const std::vector<std::string> first_cards{"2", "2,3", "0,2,3", "0,1,2,3"};
  for (std::size_t count = 1; count <= first_cards.size(); ++count) {
    Engine engine = one_node("binpack", {80, 100, 30, 50});
    const auto wanted = static_cast<std::int32_t>(count);
    EXPECT_EQ(place(engine, pod("p").gpus(wanted).milli(100)).cards_text(), first_cards[count - 1]);
  }
}

// Nodes are named by the free parts of their cards.
TEST(PercentNodes, GoFromFullOrFromEmpty) {
  struct Row {
    std::string name;
    std::vector<Percents> nodes;
    std::string binpack;
    std::string spread;
  };
  const std::vector<Row> rows{
      {"less left is fuller", {{30, 50}, {20, 40}}, "20,40 30,50", "30,50 20,40"},
      {"one nearly free card is emptier than two half ones",
       {{90}, {50, 40}},
       "50,40 90",
       "90 50,40"},
      {"a free card is emptier than two halves", {{100}, {50, 50}}, "50,50 100", "100 50,50"},
      {"a free card and a half are emptier than a free card",
       {{100}, {100, 50}},
       "100,50 100",
       "100,50 100"},
      {"of equally full nodes the one with fewer cards is fuller",
       {{20, 80, 50}, {50, 50}},
       "50,50 20,80,50",
       "20,80,50 50,50"},
      {"a full node is no candidate", {{0, 0, 0, 0, 0, 0, 0, 0}, {90}}, "90", "90"},
      {"many nodes, of which two are equally empty",
       {{30, 50},
        {20, 40},
        {90},
        {50, 40},
        {100},
        {50, 50},
        {100, 50},
        {100, 100},
        {100, 100, 100, 100, 100, 100, 100, 100}},
       "20,40 30,50 50,40 50,50 100,50 90 100 100,100 100,100,100,100,100,100,100,100",
       "100,100,100,100,100,100,100,100 100,100 100,50 100 50,50 90 50,40 30,50 20,40"},
  };
  for (const Row& row : rows) {
    for (const std::string policy_name : {"binpack", "spread"}) {
      Engine engine = engine_with(policy_name);
      for (const Percents& free : row.nodes) {
        std::string name;
        for (const std::int32_t percent : free) {
          name += (name.empty() ? "" : ",") + std::to_string(percent);
        }
        add_node(engine, name, free);
      }
      EXPECT_EQ(node_order(engine, asking({10})),
                policy_name == "binpack" ? row.binpack : row.spread)
          << row.name;
    }
  }
}

// Placements by others are accepted as they are, even if they over-commit a card.
TEST(PercentCards, OfPodsSeenBoundAreAcceptedAsTheyAre) {
  struct Row {
    std::string name;
    Percents percents;
    std::vector<std::uint32_t> cards;
    std::int32_t excess_milli;
  };
  const std::vector<Row> rows{
      {"a card each", {100, 100}, {0, 1}, 0},
      {"a half too much on one card", {50, 100}, {0, 0}, 500},
      {"twice the same card", {100, 100}, {0, 0}, 1000},
  };
  for (const Row& row : rows) {
    Engine engine = engine_with("binpack", {node("n").cards(2)});
    Assignment cards;
    for (std::size_t i = 0; i < row.cards.size(); ++i) {
      cards.containers.push_back({{.card = row.cards[i], .milli = row.percents[i] * 10}});
    }
    const PodSeenBound event{.pod = asking(row.percents), .node = "n", .cards = named("n", cards)};
    EXPECT_TRUE(engine.handle(event, base::Instant{}).empty()) << row.name;
    std::int32_t excess = 0;
    for (const auto& debt : engine.ledger().nodes().debts()) excess += debt.excess.milli;
    EXPECT_EQ(excess, row.excess_milli) << row.name;
  }
}

}  // namespace
}  // namespace stowage::core::testing
