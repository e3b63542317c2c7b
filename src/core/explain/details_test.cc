#include "core/explain/details.h"

#include <gtest/gtest.h>

#include "core/explain/render.h"
#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::engine_with;
using testing::node;
using testing::place;
using testing::pod;

std::string refusal_of(Engine& engine, const PodSpec& spec) {
  const auto placed = place(engine, spec);
  return placed.refusal ? render(*placed.refusal) : placed.text();
}

TEST(DetailsTest, AQuotaIsShownWithItsNumbers) {
  Engine engine = engine_with("first", {node("a").cards(4).model("A100").memory_mib(40960)});
  Quotas quotas;
  quotas.namespaces["team"].limits = {{.model = "A100", .cards = 3}};
  (void)engine.handle(QuotaChanged{quotas}, {});
  PodSpec spec = pod("p").gpus(2);
  spec.name = "team/p";
  EXPECT_EQ(place(engine, spec).text(), "a 0,1");
  spec.uid = "q";
  spec.name = "team/q";
  EXPECT_EQ(
      refusal_of(engine, spec),
      "0/1 nodes are available: 1 GPU quota of the namespace exceeded (asked 2 cards of A100, "
      "used 2 of 3).");
}

TEST(DetailsTest, UnitsOfQuotas) {
  using Unit = QuotaExcess::Unit;
  EXPECT_EQ(describe(QuotaExcess{.model = "*", .asked = 1, .used = 8, .allowed = 8}),
            "asked 1 card, used 8 of 8");
  EXPECT_EQ(describe(QuotaExcess{
                .model = "T4", .unit = Unit::milli, .asked = 500, .used = 700, .allowed = 1000}),
            "asked 500 milli of T4, used 700 of 1000");
  EXPECT_EQ(describe(QuotaExcess{
                .model = "*", .unit = Unit::memory_mib, .asked = 8192, .used = 0, .allowed = 4096}),
            "asked 8192 MiB, used 0 of 4096");
}

TEST(DetailsTest, AQuotaByLabelSaysWhatItLeaves) {
  QuotaBounds bounds{.by_node = true,
                     .model_label = "gpu-model",
                     .models = {"M40", "P100"},
                     .pool_label = "pool",
                     .pools = {"public"}};
  EXPECT_EQ(describe(bounds), "it allows only nodes with gpu-model=M40, P100 and pool=public");
  bounds.pools.clear();
  EXPECT_EQ(describe(bounds), "it allows only nodes with gpu-model=M40, P100");
}

TEST(DetailsTest, AnUnknownModelIsShownWithTheExistingOnes) {
  Engine engine = engine_with("first", {node("a").cards(2).model("NVIDIA A100-SXM4-80GB"),
                                        node("b").cards(4).model("Tesla T4")});
  EXPECT_EQ(refusal_of(engine, pod("p").gpus(1).model("V100")),
            "0/2 nodes are available: 2 GPU model mismatch (asked for V100; there are 4 Tesla T4, "
            "2 NVIDIA A100-SXM4-80GB).");
  EXPECT_EQ(refusal_of(engine, pod("q").gpus(1).model("a100")),
            "0/2 nodes are available: 2 GPU model mismatch (asked for a100; did you mean NVIDIA "
            "A100-SXM4-80GB?; there are 4 Tesla T4, 2 NVIDIA A100-SXM4-80GB).");
  EXPECT_EQ(refusal_of(engine, pod("r").gpus(1).model("tesla t5")).find("did you mean Tesla T4?") ==
                std::string::npos,
            false);
  EXPECT_EQ(refusal_of(engine, pod("s").gpus(8).model("Tesla T4")),
            "0/2 nodes are available: 1 GPU model mismatch, 1 insufficient GPU cards (most free on "
            "a node 4, asked 8).");
}

TEST(DetailsTest, OfManyModelsAFewAreNamed) {
  std::vector<ModelCards> known;
  for (int i = 0; i < 20; ++i) known.push_back({.model = "m" + std::to_string(i), .cards = 1});
  const std::string text = unknown_models({std::string(500, 'x')}, known);
  EXPECT_NE(text.find("and 12 more"), std::string::npos) << text;
  EXPECT_LT(text.size(), 250U);
  EXPECT_EQ(unknown_models({"V100"}, {}), "asked for V100; no node names the model of its cards");
}

TEST(DetailsTest, UnhealthyCardsAreNamed) {
  Engine engine =
      engine_with("first", {node("a").cards(4).unhealthy(), node("b").cards(1).unhealthy()});
  EXPECT_EQ(refusal_of(engine, pod("p").gpus(1)),
            "0/2 nodes are available: 2 GPU unhealthy or cordoned (a/0 on a, a/1 on a, a/2 on a "
            "and 2 more).");
}

TEST(DetailsTest, ACardThatIsAskedForByIdIsLookedUp) {
  Engine engine = engine_with("first", {node("a").cards(1), node("b").cards(1)});
  EXPECT_EQ(refusal_of(engine, pod("p").gpus(1).card_id("GPU-9")),
            "0/2 nodes are available: 2 GPU id mismatch (no node has card GPU-9).");
  testing::occupy(engine, "b", 0, {.milli = 500});
  EXPECT_EQ(refusal_of(engine, pod("q").gpus(1).card_id("b/0")),
            "0/2 nodes are available: 1 GPU id mismatch (card b/0 is on node b), 1 insufficient "
            "GPU cards (most free on a node 0, asked 1).");
}

}  // namespace
}  // namespace stowage::core
