// The meaning of a request before and after it is placed: shares of cards, weights, accepted models
// and ids, reservations, and the text of a refusal. A request n/c/m is n cards, each with c percent
// and m MiB; 0: not given.
#include <gtest/gtest.h>

#include "core/explain/render.h"
#include "core/policy/weights.h"
#include "core/testing/builders.h"

namespace stowage::core::testing {
namespace {

struct Want {
  std::int32_t cards = 0;
  std::int32_t percent = 0;
  std::int32_t memory_mib = 0;
};

PodSpec asking(const std::vector<Want>& containers) {
  PodBuilder result = pod("p");
  for (const Want& want : containers) {
    result.container("cont" + std::to_string(result.size())).gpus(want.cards);
    if (want.percent > 0) result.milli(want.percent * 10);
    if (want.memory_mib > 0) result.memory_mib(want.memory_mib);
    if (want.percent > 0 && want.memory_mib == 0) result.whole_memory();
  }
  return result;
}

TEST(Request, IsResolvedOnTheCardsItGets) {
  struct Row {
    std::string name;
    Want want;
    std::vector<std::int32_t> card_mib;
    std::vector<CardShare> shares;
  };
  const std::vector<Row> rows{
      {"nothing given: whole cards", {1, 0, 0}, {12288}, {{0, 1000, 12288}}},
      {"compute alone: all memory", {1, 50, 0}, {12288}, {{0, 500, 12288}}},
      {"memory alone: compute is not charged", {1, 0, 4096}, {12288}, {{0, 0, 4096}}},
      {"both, on two cards", {2, 50, 8192}, {12288, 12288}, {{0, 500, 8192}, {1, 500, 8192}}},
      {"all compute and all memory", {1, 100, 12288}, {12288}, {{0, 1000, 12288}}},
      {"whole cards of unequal size",
       {2, 0, 0},
       {12000, 24000},
       {{0, 1000, 12000}, {1, 1000, 24000}}},
      {"shares of cards of unequal size",
       {2, 0, 4096},
       {12000, 24000},
       {{0, 0, 4096}, {1, 0, 4096}}},
      {"only the second card is large enough", {1, 0, 20000}, {12000, 24000}, {{1, 0, 20000}}},
  };
  for (const Row& row : rows) {
    NodeBuilder spec = node("n");
    for (const std::int32_t mib : row.card_mib) spec.cards(1).memory_mib(mib);
    Engine engine = engine_with("first", {spec});
    const Placed placed = place(engine, asking({row.want}));
    ASSERT_TRUE(placed.placed()) << row.name;
    EXPECT_EQ(placed.assignment.containers.at(0), row.shares) << row.name;
  }
}

TEST(Request, GivesTheWeightsOfAPod) {
  struct Row {
    std::string name;
    std::vector<Want> containers;
    double number;
    double memory;
    double compute;
  };
  const double third = 1.0 / 3;
  const std::vector<Row> rows{
      {"one whole card", {{1, 0, 0}}, third, third, third},
      {"two whole cards", {{2, 0, 0}}, third, third, third},
      {"eight whole cards", {{8, 0, 0}}, third, third, third},
      {"a whole card each", {{1, 0, 0}, {1, 0, 0}}, third, third, third},
      {"a whole card and an idle container", {{1, 0, 0}, {}}, third, third, third},
      {"an idle container", {{}}, third, third, third},
      {"no container", {}, third, third, third},
      {"all compute of a card", {{1, 100, 0}}, third, third, third},
      {"all compute of two cards and little memory", {{2, 100, 4}}, third, third, third},
      {"half a card", {{1, 50, 0}}, 0.4, 0.4, 0.2},
      {"half of two cards", {{2, 50, 0}}, 0.4, 0.4, 0.2},
      {"half a card and little memory", {{1, 50, 4}}, 0.4, 0.4, 0.2},
      {"three kinds of container", {{1, 0, 0}, {1, 0, 4}, {2, 50, 0}}, 0.4, 0.4, 0.2},
      {"a quarter of a card", {{1, 25, 0}}, 1 / 2.25, 1 / 2.25, 0.25 / 2.25},
      {"a hundredth of a card", {{1, 1, 0}}, 1 / 2.01, 1 / 2.01, 0.01 / 2.01},
      {"little memory", {{1, 0, 4}}, 0.5, 0.5, 0},
      {"least memory", {{1, 0, 1}}, 0.5, 0.5, 0},
      {"little memory of two cards", {{2, 0, 4}}, 0.5, 0.5, 0},
      {"four GiB", {{1, 0, 4096}}, 0.2, 0.8, 0},
      {"half a card and four GiB", {{1, 50, 4096}}, 1 / 5.5, 4 / 5.5, 0.5 / 5.5},
      {"half a card and two whole ones", {{1, 50, 0}, {2, 0, 0}}, 3 / 8.5, 3 / 8.5, 2.5 / 8.5},
      {"memory and half of two cards", {{1, 0, 4}, {2, 50, 0}}, 3 / 7.0, 3 / 7.0, 1 / 7.0},
  };
  Ledger ledger;
  for (const Row& row : rows) {
    const ProfileWeights weights = profile_weights(make_shape(asking(row.containers), ledger));
    EXPECT_DOUBLE_EQ(weights.number, row.number) << row.name;
    EXPECT_DOUBLE_EQ(weights.memory, row.memory) << row.name;
    EXPECT_DOUBLE_EQ(weights.compute, row.compute) << row.name;
  }
}

// ---- models and ids -----------------------------------------------------------------------------

using List = std::vector<std::string>;

TEST(Filter, AcceptsModelsByPartOfTheirName) {
  struct Row {
    std::string name;
    std::string model;
    List any;
    List none;
    bool accepted;
  };
  const std::string a100 = "NVIDIA A100-SXM4-80GB";
  const std::string small_a100 = "NVIDIA A100-SXM4-40GB";
  const std::string rtx = "NVIDIA GeForce RTX 3080 Ti";
  const std::vector<Row> rows{
      {"a part of the name", "NVIDIA A10", {"A10"}, {}, true},
      {"another name", small_a100, {"3080Ti"}, {}, false},
      {"a wider name is excluded", small_a100, {"NVIDIA A10"}, {"NVIDIA A100"}, false},
      {"the same model with other memory", a100, {small_a100}, {}, false},
      {"excluded by a part", a100, {}, {"NVIDIA A100"}, false},
      {"the second of two", rtx, {"RTX 4090", "RTX 3080"}, {}, true},
      {"no lists", rtx, {}, {}, true},
      {"without regard to case", a100, {"a100"}, {}, true},
      {"an empty entry accepts all", a100, {""}, {}, true},
      {"a blank entry excludes nothing", a100, {}, {"   "}, true},
      {"an empty entry beside another name", a100, {"V100", ""}, {}, false},
      {"an empty entry before an excluded name", a100, {}, {"", "V100"}, true},
      {"an empty entry after an excluded name", a100, {}, {"V100", ""}, true},
      {"a blank entry accepts all", a100, {"   "}, {}, true},
      {"only empty entries", a100, {"", "", ""}, {}, true},
      {"accepted and excluded", a100, {"A100"}, {"A100"}, false},
  };
  for (const Row& row : rows) {
    const CardFilter filter{
        .model_match = CardFilter::Match::contains, .models_any = row.any, .models_none = row.none};
    EXPECT_EQ(accepts_model(filter, row.model), row.accepted) << row.name;
    Engine engine = engine_with("first", {node("n").cards(1).model(row.model)});
    const Placed placed = place(engine, pod("p").gpus(1).filter(filter));
    EXPECT_EQ(placed.placed(), row.accepted) << row.name;
    if (placed.placed()) continue;
    EXPECT_EQ(placed.refusal->counts.at(0).code, ReasonCode::model_mismatch) << row.name;
  }
}

TEST(Filter, AcceptsIdsByEquality) {
  struct Row {
    std::string name;
    List any;
    List none;
    bool accepted;
  };
  const std::vector<Row> rows{
      {"the id", {"g"}, {}, true},
      {"another id", {"other"}, {}, false},
      {"the second of two", {"other", "g"}, {}, true},
      {"excluded", {}, {"g"}, false},
      {"excluded as the second of two", {}, {"other", "g"}, false},
      {"no lists", {}, {}, true},
      {"an empty entry accepts all", {""}, {}, true},
      {"a blank entry accepts all", {"   "}, {}, true},
      {"an empty entry after the id", {"g", ""}, {}, true},
      {"an empty entry before the id", {"", "g"}, {}, true},
      {"excluded before an empty entry", {}, {"g", ""}, false},
      {"excluded after an empty entry", {}, {"", "g"}, false},
      {"a blank entry excludes nothing", {}, {"   "}, true},
      {"accepted and excluded", {"g"}, {"g"}, false},
      {"accepted, and another excluded", {"g"}, {"other"}, true},
      {"a part of another id", {"gg"}, {}, false},
  };
  for (const Row& row : rows) {
    const CardFilter filter{.ids_any = row.any, .ids_none = row.none};
    EXPECT_EQ(accepts_id(filter, "g"), row.accepted) << row.name;
    NodeSpec spec = node("n").cards(1);
    spec.cards[0].id = "g";
    Engine engine = engine_with("first", {spec});
    const Placed placed = place(engine, pod("p").gpus(1).filter(filter));
    EXPECT_EQ(placed.placed(), row.accepted) << row.name;
    if (placed.placed()) continue;
    EXPECT_EQ(placed.refusal->counts.at(0).code, ReasonCode::id_mismatch) << row.name;
  }
}

// ---- footprint ----------------------------------------------------------------------------------

TEST(Footprint, AddsWhatRunsTogether) {
  struct Claims {
    Phase phase;
    std::vector<CardShare> shares;
  };
  struct Row {
    std::string name;
    std::vector<Claims> containers;
    std::vector<CardCharge> reserved;  // card, milli, MiB, slots
  };
  constexpr auto kApp = Phase::app;
  constexpr auto kInit = Phase::init;
  const std::vector<Row> rows{
      {"one app", {{kApp, {{0, 500, 1000}}}}, {{0, 500, 1000, 1}}},
      {"two apps add up",
       {{kApp, {{0, 300, 1000}}}, {kApp, {{0, 400, 2000}}}},
       {{0, 700, 3000, 2}}},
      {"the app covers init",
       {{kInit, {{0, 200, 500}}}, {kApp, {{0, 600, 4000}}}},
       {{0, 600, 4000, 1}}},
      {"each dimension has its own maximum",
       {{kInit, {{0, 200, 8000}}}, {kApp, {{0, 600, 4000}}}},
       {{0, 600, 8000, 1}}},
      {"init on another card",
       {{kInit, {{1, 1000, 16000}}}, {kApp, {{0, 500, 4000}}}},
       {{0, 500, 4000, 1}, {1, 1000, 16000, 1}}},
      {"init alone", {{kInit, {{0, 300, 2000}}}}, {{0, 300, 2000, 1}}},
      {"the larger of two inits, per dimension",
       {{kInit, {{0, 300, 2000}}}, {kInit, {{0, 700, 1000}}}},
       {{0, 700, 2000, 1}}},
      {"a sidecar adds to the app",
       {{Phase::sidecar, {{0, 200, 1000}}}, {kApp, {{0, 500, 4000}}}},
       {{0, 700, 5000, 2}}},
      {"one init twice on a card",
       {{kInit, {{0, 300, 1000}, {0, 400, 2000}}}},
       {{0, 700, 3000, 2}}},
  };
  for (const Row& row : rows) {
    PodSpec spec;
    Assignment assignment;
    for (const Claims& claims : row.containers) {
      spec.containers.push_back({.phase = claims.phase});
      assignment.containers.push_back(claims.shares);
    }
    EXPECT_EQ(footprint(spec, assignment), row.reserved) << row.name;
  }
}

// ---- text ---------------------------------------------------------------------------------------

struct Crowd {
  std::size_t wrong_model = 0;
  std::size_t too_small = 0;
  std::size_t unhealthy = 0;
  std::size_t plain = 0;
};

// The refusal of a pod that asks for 8192 MiB of an A100, by these nodes.
Refusal refused_by(const Crowd& crowd) {
  Engine engine = engine_with("first");
  const auto add_all = [&](const std::string& kind, std::size_t count, NodeSpec spec) {
    for (std::size_t i = 0; i < count; ++i) {
      spec.name = kind + std::to_string(i);
      add(engine, spec);
    }
  };
  add_all("model", crowd.wrong_model, node("").cards(1).model("T4"));
  add_all("small", crowd.too_small, node("").cards(1).model("A100").memory_mib(4096));
  add_all("sick", crowd.unhealthy, node("").cards(1).model("A100").unhealthy());
  add_all("plain", crowd.plain, node(""));
  return place(engine, pod("p").memory_mib(8192).model("A100")).refusal.value();
}

TEST(Refusal, NamesTheCommonestReasonFirst) {
  struct Row {
    std::string name;
    Crowd crowd;
    std::string text;
  };
  const std::string memory = " insufficient GPU memory (largest free share 4096 MiB, asked 8192)";
  const std::vector<Row> rows{
      {"three reasons",
       {.wrong_model = 5, .too_small = 3, .unhealthy = 1},
       "0/9 nodes are available: 5 GPU model mismatch, 3" + memory +
           ", 1 GPU unhealthy or cordoned (/0 on sick0)."},
      {"equally common reasons go in the order of their codes",
       {.wrong_model = 2, .too_small = 2},
       "0/4 nodes are available: 2 GPU model mismatch, 2" + memory + "."},
      {"one reason", {.too_small = 3}, "0/3 nodes are available: 3" + memory + "."},
      {"nodes without cards",
       {.wrong_model = 2, .too_small = 4, .plain = 1},
       "0/7 nodes are available: 4" + memory + ", 2 GPU model mismatch, 1 node(s) had no GPU."},
      {"no nodes at all", {}, "0/0 nodes are available."},
  };
  for (const Row& row : rows) EXPECT_EQ(render(refused_by(row.crowd)), row.text) << row.name;
  EXPECT_EQ(render(Refusal{.nodes = 5}), "0/5 nodes are available.") << "no reasons given";
}

TEST(Refusal, SaysWhatWouldFit) {
  EXPECT_EQ(nearest_fit(refused_by({.wrong_model = 5, .too_small = 3})),
            "fits with memory <= 4096 MiB");
  EXPECT_EQ(nearest_fit(refused_by({.wrong_model = 5})), "");
}

// If there are cards of the right model, only these count.
TEST(Refusal, OfOneNodeNamesTheReason) {
  Engine engine = engine_with(
      "first", {node("n").cards(3).model("A100").memory_mib(4096).cards(5).model("T4")});
  const auto verdicts = engine.explain(pod("p").memory_mib(8192).model("A100"));
  ASSERT_EQ(verdicts.size(), 1U);
  EXPECT_EQ(render(verdicts[0].reason),
            "insufficient GPU memory (largest free share 4096 MiB, asked 8192)");
}

}  // namespace
}  // namespace stowage::core::testing
