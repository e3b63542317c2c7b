// `tightest`: the node and the card with the least free compute, then the least free memory, then
// the lowest name or index. Compares placements of gpu-admission step by step.
#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::core::testing {
namespace {

// A container in gpu-admission's units: percent of cards, and memory in units of the card. From 100
// percent on it has whole cards; a share needs both numbers; anything else is no GPU container.
struct Want {
  std::int32_t percent = 0;
  std::int32_t memory = 0;
};

PodSpec asking(const std::string& name, const std::vector<Want>& containers) {
  PodBuilder result = pod(name);
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Want& want = containers[i];
    result.container("c" + std::to_string(i));
    if (want.percent >= 100) {
      result.gpus(want.percent / 100);
    } else if (want.percent > 0 && want.memory > 0) {
      result.milli(want.percent * 10).memory_mib(want.memory);
    }
  }
  return result;
}

struct Step {
  std::string name;
  std::vector<Want> containers;
  std::string placed;
  std::string refused_by;
};

void run(Engine& engine, const std::vector<Step>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const PodSpec next = asking("pod-" + std::to_string(i), steps[i].containers);
    EXPECT_EQ(refusing(engine, next), steps[i].refused_by) << steps[i].name;
    EXPECT_EQ(place(engine, next).text(), steps[i].placed) << steps[i].name;
  }
  EXPECT_TRUE(engine.ledger().audit().empty());
}

TEST(Tightest, FillsThreeEqualNodes) {
  Engine engine = engine_with("tightest", {node("testnode0").cards(2).memory_mib(4),
                                           node("testnode1").cards(2).memory_mib(4),
                                           node("testnode2").cards(2).memory_mib(4)});
  run(engine, {
                  {"two small containers share the first card of the first node",
                   {{10, 1}, {10, 1}},
                   "testnode0 0|0",
                   ""},
                  {"a whole card and a large share need a node with two free cards",
                   {{100, 3}, {80, 3}},
                   "testnode1 0|1",
                   "testnode0"},
                  {"two whole cards need the last free node, and the second container none",
                   {{200, 10}, {}},
                   "testnode2 0,1|-",
                   "testnode0 testnode1"},
                  {"a share goes to the fullest node that holds its memory",
                   {{10, 2}, {}},
                   "testnode0 0|-",
                   "testnode1 testnode2"},
              });
  EXPECT_EQ(use_of(engine, "testnode0"), "30/4 0/0");
  EXPECT_EQ(use_of(engine, "testnode1"), "100/4 80/3");
  EXPECT_EQ(use_of(engine, "testnode2"), "100/4 100/4");
}

// 150 percent is not tested: a request is either a share of one card or a number of cards, and the
// parser of requests decides about 150. Instead, 100 is tested.
TEST(Tightest, FillsUnequalNodes) {
  Engine engine =
      engine_with("tightest", {node("a").cards(2).memory_mib(8), node("b").cards(4).memory_mib(8),
                               node("c").cards(1).memory_mib(8)});
  run(engine,
      {
          {"the node with one card is the tightest", {{50, 2}}, "c 0", ""},
          {"a whole card goes to the smaller of the free nodes", {{100, 0}}, "a 0", "c"},
          {"a share that the used card does not hold takes the next node", {{60, 2}}, "a 1", "c"},
          {"two whole cards fit on the largest node only", {{200, 0}}, "b 0,1", "a c"},
          {"memory decides where compute would fit", {{40, 7}}, "b 2", "a c"},
          {"the last half of a card is filled", {{50, 1}}, "c 0", "a"},
          {"the last free card is found", {{100, 0}}, "b 3", "a c"},
          {"more cards than any node has free are refused", {{300, 0}}, "none", "a b c"},
      });
  EXPECT_EQ(use_of(engine, "a"), "100/8 60/2");
  EXPECT_EQ(use_of(engine, "b"), "100/8 100/8 40/7 100/8");
  EXPECT_EQ(use_of(engine, "c"), "100/3");
}

TEST(Tightest, LooksAtComputeThenMemoryThenNames) {
  Engine engine = engine_with("tightest");
  const auto add_used = [&](const std::string& name, const Use& use) {
    add(engine, node(name).cards(1).memory_mib(8));
    occupy(engine, name, 0, use);
  };
  add_used("a", {.milli = 200, .memory_mib = 6});
  add_used("b", {.milli = 500, .memory_mib = 2});
  add_used("c", {.milli = 500, .memory_mib = 4});
  add_used("d", {.milli = 500, .memory_mib = 2});
  EXPECT_EQ(node_order(engine, asking("p", {{10, 1}})), "c b d a");
}

TEST(Tightest, TakesCardsInTheSameOrder) {
  Engine engine = engine_with("tightest", {node("n").cards(4).memory_mib(8)});
  occupy(engine, "n", 0, {.milli = 200, .memory_mib = 6});
  occupy(engine, "n", 1, {.milli = 500, .memory_mib = 2});
  occupy(engine, "n", 2, {.milli = 500, .memory_mib = 4});
  occupy(engine, "n", 3, {.milli = 500, .memory_mib = 2});
  const std::vector<std::string> first_cards{"2", "1,2", "1,2,3", "0,1,2,3"};
  for (std::size_t count = 1; count <= first_cards.size(); ++count) {
    const auto cards = static_cast<std::int32_t>(count);
    const PodSpec several = pod("p").gpus(cards).milli(100).memory_mib(1);
    EXPECT_EQ(place(engine, several).cards_text(), first_cards[count - 1]);
    end(engine, "p");
  }
}

// The original treats these as GPU pods, but gives some of their containers no card.
TEST(Tightest, GivesEveryContainerThatAsksItsCard) {
  Engine engine = engine_with("tightest", {node("a").cards(2).memory_mib(8)});
  const PodSpec compute_only = pod("p").container("x").milli(600).container("y").milli(600);
  EXPECT_EQ(place(engine, compute_only).text(), "a 0|1");
  end(engine, "p");
  const PodSpec one_without_memory =
      pod("q").container("x").milli(300).memory_mib(2).container("y").milli(300);
  EXPECT_EQ(place(engine, one_without_memory).text(), "a 0|0");
  EXPECT_EQ(use_of(engine, "a"), "60/2 0/0");
}

TEST(Tightest, KnowsNodesWithoutCards) {
  Engine engine = engine_with("tightest", {node("plain")});
  const Placed placed = place(engine, pod("p").gpus(1));
  ASSERT_TRUE(placed.refusal.has_value());
  ASSERT_EQ(placed.refusal->counts.size(), 1U);
  EXPECT_EQ(placed.refusal->counts[0].code, ReasonCode::no_cards);
  EXPECT_EQ(place(engine, pod("q").container("no-gpu")).text(), "plain -");
}

void seen(Engine& engine, const PodSpec& spec, std::vector<CardShare> shares) {
  (void)engine.handle(
      PodSeenBound{
          .pod = spec, .node = "n1", .cards = named("n1", {.containers = {std::move(shares)}})},
      base::Instant{});
}

TEST(Tightest, ChargesPodsThatWereThereBefore) {
  struct Row {
    std::string name;
    PodSpec pod;
    CardShare share;
    std::string used;
  };
  const PodSpec share = asking("p", {{50, 2}});
  const PodSpec whole = asking("p", {{100, 0}});
  const std::vector<Row> rows{
      {"a share is charged to the card that was named", share, {1, 500, 2}, "0/0 50/2"},
      {"a card that the node does not have may be any of them", share, {7, 500, 2}, "50/2 50/2"},
      {"a whole card is charged with all its memory", whole, {0, 1000, 8}, "100/8 0/0"},
  };
  for (const Row& row : rows) {
    Engine engine = engine_with("tightest", {node("n1").cards(2).memory_mib(8)});
    seen(engine, row.pod, {row.share});
    EXPECT_EQ(use_of(engine, "n1"), row.used) << row.name;
    end(engine, "p");
    EXPECT_EQ(use_of(engine, "n1"), "0/0 0/0") << row.name << ", and nothing once it has ended";
  }
}

}  // namespace
}  // namespace stowage::core::testing
