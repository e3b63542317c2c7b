#include "core/explain/render.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::engine_with;
using testing::node;
using testing::place;
using testing::pod;

constexpr std::int64_t kMiB = 1 << 20U;

ReasonCount count(ReasonCode code, std::int64_t nodes, std::int64_t asked = 0,
                  std::int64_t best = 0, std::int64_t best_only = -1) {
  return {.code = code, .nodes = nodes, .asked = asked, .best = best, .best_only = best_only};
}

TEST(Render, TheSentenceOfTwoReasons) {
  const Refusal refusal{.nodes = 20,
                        .counts = {count(ReasonCode::card_memory, 12, 8192, 4096),
                                   count(ReasonCode::model_mismatch, 8)}};
  EXPECT_EQ(
      render(refusal),
      "0/20 nodes are available: 12 insufficient GPU memory (largest free share 4096 MiB, asked "
      "8192), 8 GPU model mismatch.");
}

TEST(Render, AClusterWithoutNodes) {
  EXPECT_EQ(render(Refusal{}), "0/0 nodes are available.");
  EXPECT_EQ(nearest_fit(Refusal{}), "");
}

struct CodeRow {
  ReasonCode code;
  std::int64_t asked;
  std::int64_t best;
  const char* word;
  const char* text;
  const char* nearest;  // if there is no other reason
};

const std::vector<CodeRow>& code_rows() {
  static const std::vector<CodeRow> kRows{
      {ReasonCode::none, 0, 0, "none", "fits", ""},
      {ReasonCode::not_schedulable, 0, 0, "not_schedulable", "node(s) were unschedulable", ""},
      {ReasonCode::no_cards, 0, 0, "no_cards", "node(s) had no GPU", ""},
      {ReasonCode::plugin, 0, 0, "plugin",
       "node(s) had a device plugin that is not registered with the kubelet", ""},
      {ReasonCode::model_mismatch, 0, 0, "model_mismatch", "GPU model mismatch", ""},
      {ReasonCode::quota, 0, 0, "quota", "GPU quota of the namespace exceeded", ""},
      {ReasonCode::id_mismatch, 0, 0, "id_mismatch", "GPU id mismatch", ""},
      {ReasonCode::unhealthy, 0, 0, "unhealthy", "GPU unhealthy or cordoned", ""},
      {ReasonCode::cards, 2, 1, "cards", "insufficient GPU cards (most free on a node 1, asked 2)",
       "needs 2 free cards on one node; the best node has 1"},
      {ReasonCode::card_milli, 700, 300, "card_milli",
       "insufficient GPU compute (largest free share 300 milli, asked 700)",
       "fits with compute <= 300 milli of a card"},
      {ReasonCode::card_memory, 16384, 11264, "card_memory",
       "insufficient GPU memory (largest free share 11264 MiB, asked 16384)",
       "fits with memory <= 11264 MiB"},
      {ReasonCode::taint, 0, 0, "taint", "node(s) had taints that the pod does not tolerate", ""},
      {ReasonCode::node_affinity, 0, 0, "node_affinity",
       "node(s) didn't match the pod's node selector or affinity", ""},
      {ReasonCode::not_offered, 0, 0, "not_offered",
       "node(s) didn't offer the GPU resource that the pod names", ""},
      {ReasonCode::card_slots, 1, 0, "card_slots", "no free slot on a GPU", ""},
      {ReasonCode::numa, 2, 0, "numa", "GPUs not in one NUMA node",
       "fits without the strict NUMA wish"},
      {ReasonCode::link, 2, 0, "link", "GPUs not connected by NVLink",
       "fits without the strict link wish"},
      {ReasonCode::search, 0, 0, "search", "not all assignments of GPUs tried yet", ""},
      {ReasonCode::held_back, 1, 0, "held_back", "GPUs kept for pods that need several at once",
       ""},
      {ReasonCode::cpu, 4000, 1500, "cpu", "insufficient cpu (most free 1500 milli, asked 4000)",
       "fits with cpu <= 1500 milli"},
      {ReasonCode::memory, 64 * kMiB, 32 * kMiB, "memory",
       "insufficient memory (most free 32 MiB, asked 64)",
       "fits with memory <= 32 MiB of the node"},
      {ReasonCode::ephemeral, 64 * kMiB, 32 * kMiB, "ephemeral",
       "insufficient ephemeral-storage (most free 32 MiB, asked 64)", ""},
      {ReasonCode::pods, 1, 0, "pods", "too many pods", ""},
      {ReasonCode::extended, 3, 1, "extended",
       "insufficient extended resource (most free 1, asked 3)", ""},
      {ReasonCode::host_port, 0, 0, "host_port", "host port in use", ""},
      {ReasonCode::pod_affinity, 0, 0, "pod_affinity", "node(s) didn't match pod affinity rules",
       ""},
      {ReasonCode::pod_anti_affinity, 0, 0, "pod_anti_affinity",
       "node(s) didn't match pod anti-affinity rules", ""},
      {ReasonCode::others_anti_affinity, 0, 0, "others_anti_affinity",
       "node(s) didn't satisfy existing pods anti-affinity rules", ""},
      {ReasonCode::spread, 0, 0, "spread", "node(s) didn't match pod topology spread constraints",
       ""},
      {ReasonCode::spread_label, 0, 0, "spread_label",
       "node(s) didn't match pod topology spread constraints (missing required label)", ""},
      {ReasonCode::claim, 0, 0, "claim", "volume claim cannot be used", ""},
      {ReasonCode::volume_node, 0, 0, "volume_node", "node(s) had volume node affinity conflict",
       ""},
      {ReasonCode::volume_none, 0, 0, "volume_none",
       "node(s) didn't find available persistent volumes to bind", ""},
      {ReasonCode::volume_limit, 0, 0, "volume_limit", "node(s) exceed max volume count", ""},
      {ReasonCode::volume_in_use, 0, 0, "volume_in_use", "volume in use by another pod", ""},
  };
  return kRows;
}

TEST(Render, EveryCodeHasANameAndAPhrase) {
  std::set<ReasonCode> seen;
  std::set<std::string> words;
  for (const auto& row : code_rows()) {
    SCOPED_TRACE(row.word);
    seen.insert(row.code);
    words.insert(to_string(row.code));
    EXPECT_STREQ(to_string(row.code), row.word);
    const Reason reason{.code = row.code, .only = true, .asked = row.asked, .found = row.best};
    EXPECT_EQ(render(reason), row.text);
    const Refusal refusal{.nodes = 3,
                          .counts = {count(row.code, 3, row.asked, row.best, row.best)}};
    EXPECT_EQ(render(refusal), "0/3 nodes are available: 3 " + std::string(row.text) + ".");
    EXPECT_EQ(nearest_fit(refusal), row.nearest);
    const Refusal mixed{.nodes = 3, .counts = {count(row.code, 3, row.asked, row.best)}};
    EXPECT_EQ(nearest_fit(mixed), "") << "where something else stands in the way, too";
  }
  EXPECT_EQ(seen.size(), kReasonCodes);
  EXPECT_EQ(words.size(), kReasonCodes);
}

TEST(Render, TheNearestFitIsThatOfTheFirstReasonThatHasOne) {
  const Refusal refusal{.nodes = 9,
                        .counts = {count(ReasonCode::model_mismatch, 5, 0, 0, 0),
                                   count(ReasonCode::card_memory, 3, 8192, 0, 0),
                                   count(ReasonCode::cpu, 1, 4000, 1500, 1500)}};
  EXPECT_EQ(nearest_fit(refusal), "fits with cpu <= 1500 milli") << "with 0 MiB nothing fits";
}

// ---- from the engine ----------------------------------------------------------------------------

std::string refusal_of(Engine& engine, const PodSpec& spec) {
  const auto placed = place(engine, spec);
  return placed.refusal ? render(*placed.refusal) : placed.text();
}
std::string hint_of(Engine& engine, const PodSpec& spec) {
  const auto placed = place(engine, spec);
  return placed.refusal ? nearest_fit(*placed.refusal) : placed.text();
}

TEST(RenderFromEngine, MemoryAndModels) {
  Engine engine = engine_with("dual-price");
  for (int i = 0; i < 20; ++i) {
    const std::string name = "n" + std::to_string(i);
    testing::add(engine, node(name).cards(2).memory_mib(16384).model(i < 12 ? "A100" : "T4"));
    if (i >= 12) continue;
    for (const std::uint32_t card : {0U, 1U}) {
      testing::occupy(engine, name, card,
                      {.milli = 100, .memory_mib = i == 7 && card == 1 ? 12288 : 16000});
    }
  }
  const PodSpec spec = pod("p").milli(100).memory_mib(8192).model("A100");
  EXPECT_EQ(
      refusal_of(engine, spec),
      "0/20 nodes are available: 12 insufficient GPU memory (largest free share 4096 MiB, asked "
      "8192), 8 GPU model mismatch.");
  EXPECT_EQ(hint_of(engine, spec), "fits with memory <= 4096 MiB");
  EXPECT_EQ(place(engine, pod("q").milli(100).memory_mib(4096).model("A100")).text(), "n7 1");
}

TEST(RenderFromEngine, CardsOnOneNode) {
  Engine engine =
      engine_with("binpack", {node("a").cards(2), node("b").cards(1), node("c").cards(4)});
  for (const std::uint32_t card : {0U, 1U, 2U}) testing::occupy(engine, "c", card, {.milli = 500});
  testing::occupy(engine, "a", 0, {.milli = 500});
  EXPECT_EQ(refusal_of(engine, pod("p").gpus(2)),
            "0/3 nodes are available: 3 insufficient GPU cards (most free on a node 1, asked 2).");
  EXPECT_EQ(hint_of(engine, pod("p").gpus(2)),
            "needs 2 free cards on one node; the best node has 1");
}

TEST(RenderFromEngine, EachReasonByItself) {
  Engine engine = engine_with("binpack", {node("n")
                                              .cards(2)
                                              .model("T4")
                                              .slots(1)
                                              .numa(0)
                                              .cards(1)
                                              .model("T4")
                                              .numa(1)
                                              .cpu_milli(2000)
                                              .memory_bytes(64 * kMiB)
                                              .pods(3)
                                              .extended("nic", 1)});
  testing::occupy(engine, "n", 0, {.milli = 300, .memory_mib = 100});
  testing::occupy(engine, "n", 2, {.milli = 300, .memory_mib = 100});
  struct Row {
    PodSpec spec;
    const char* reason;
    const char* hint;
  };
  const Row rows[] = {
      {pod("p").milli(800).card_id("n/2"),
       "insufficient GPU compute (largest free share 700 milli, asked 800)",
       "fits with compute <= 700 milli of a card"},
      {pod("p").memory_mib(16300).card_id("n/2"),
       "insufficient GPU memory (largest free share 16284 MiB, asked 16300)",
       "fits with memory <= 16284 MiB"},
      {pod("p").milli(100).card_id("n/0"), "no free slot on a GPU", ""},
      {pod("p").gpus(1).card_id("elsewhere"), "GPU id mismatch", ""},
      {pod("p").gpus(1).model("A100"), "GPU model mismatch", ""},
      {pod("p").gpus(2).milli(100).topology(Topology::numa_strict), "GPUs not in one NUMA node",
       "fits without the strict NUMA wish"},
      {pod("p").gpus(2).milli(100).topology(Topology::link_strict), "GPUs not connected by NVLink",
       "fits without the strict link wish"},
      {pod("p").cpu_milli(5000), "insufficient cpu (most free 2000 milli, asked 5000)",
       "fits with cpu <= 2000 milli"},
      {pod("p").memory_bytes(65 * kMiB), "insufficient memory (most free 64 MiB, asked 65)",
       "fits with memory <= 64 MiB of the node"},
      {pod("p").extended("nic", 2), "insufficient extended resource (most free 1, asked 2)", ""},
      {pod("p").gpus(1).cpu_milli(5000).memory_bytes(65 * kMiB),
       "insufficient cpu (most free 2000 milli, asked 5000)", ""},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.reason);
    std::string told = row.reason;
    const auto generic = told.find("extended resource");
    if (generic != std::string::npos)
      told.replace(generic, 17, "nic");  // a refusal names the resource
    if (told == "GPU id mismatch") told += " (no node has card elsewhere)";
    if (told == "GPU model mismatch") told += " (asked for A100; there are 3 T4)";
    EXPECT_EQ(refusal_of(engine, row.spec), "0/1 nodes are available: 1 " + told + ".");
    EXPECT_EQ(hint_of(engine, row.spec), row.hint);
    const auto verdicts = engine.explain(row.spec);
    ASSERT_EQ(verdicts.size(), 1U);
    EXPECT_EQ(render(verdicts[0].reason), row.reason);
  }
  testing::occupy(engine, "n", 1, {.milli = 300});
  EXPECT_EQ(refusal_of(engine, pod("p").cpu_milli(1)), "0/1 nodes are available: 1 too many pods.");
}

TEST(RenderFromEngine, SuggestsNothingThatWouldNotFit) {
  // Card 0 has the most free memory but no free slot; card 1 has little free memory; both are in
  // use.
  Engine engine = engine_with("binpack", {node("n").cards(1).slots(1).cards(1)});
  testing::occupy(engine, "n", 0, {.milli = 100, .memory_mib = 6384});
  testing::occupy(engine, "n", 1, {.milli = 600, .memory_mib = 13384});
  const std::pair<PodSpec, const char*> rows[] = {
      {pod("p").memory_mib(12000), "fits with less than the largest hole: there is no place"},
      {pod("p").gpus(2).memory_mib(12000), "two holes are needed"},
      {pod("p").gpus(1).memory_mib(20000), "there is no free card"},
      {pod("p").gpus(1).milli(950).memory_mib(2000), "the compute is on the card without a place"},
      {pod("p").container("a").memory_mib(12000).container("b").memory_mib(9000),
       "less for one container does not have to help"},
  };
  for (const auto& [spec, why] : rows) EXPECT_EQ(hint_of(engine, spec), "") << why;
  EXPECT_EQ(hint_of(engine, pod("p").milli(100).memory_mib(3000)), "n 1") << "this one fits";
}

TEST(RenderFromEngine, NodesThatTakeNothing) {
  Engine engine = engine_with("binpack", {node("a").cards(1).cordoned(), node("b"),
                                          node("c").cards(1).unhealthy(), node("d")});
  EXPECT_EQ(refusal_of(engine, pod("p").gpus(1)),
            "0/4 nodes are available: 2 node(s) had no GPU, 1 node(s) were unschedulable, 1 GPU "
            "unhealthy or cordoned (c/0 on c).");
  EXPECT_EQ(hint_of(engine, pod("p").gpus(1)), "");
}

}  // namespace
}  // namespace stowage::core
