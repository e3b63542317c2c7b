// Wishes of pods besides amounts, in our own annotations.
#include <gtest/gtest.h>

#include "dialect/dialect.h"
#include "dialect/testing.h"

namespace stowage::dialect {
namespace {

using core::CardPolicy;
using core::NodePolicy;
using core::Topology;
using testing::container;
using testing::pod;

constexpr const char* kResources[] = {
    "stowage.dev/gpu-core",  "nvidia.com/gpu",         "nvidia.com/vgpu-number",
    "nvidia.com/vcuda-core", "tencent.com/vcuda-core", "elasticgpu.io/gpu-core",
    "nano-gpu/gpu-percent",  "alnair/vgpu-memory",
};

PodObject asking(const char* resource) {
  const std::string name = resource;
  const bool percent = name.ends_with("-core") || name.ends_with("-percent");
  return pod({container("side", {}), container("main", {{resource, percent ? "100" : "1"}})});
}

core::PodSpec spec_of(const PodObject& object) {
  auto spec = to_spec(object, {});
  EXPECT_TRUE(spec) << spec.error().message;
  return spec.value_or(core::PodSpec());
}

std::string error_of(const PodObject& object) {
  const auto spec = to_spec(object, {});
  return spec ? "no error" : spec.error().message;
}

TEST(Wishes, ForCardsWorkInEveryDialect) {
  for (const char* resource : kResources) {
    auto object = asking(resource);
    object.annotations = {{"stowage.dev/gpu-model", "Tesla T4, A10 ,"},
                          {"stowage.dev/exclude-gpu-model", "A100"},
                          {"stowage.dev/gpu-ids", "GPU-a,GPU-b"},
                          {"stowage.dev/exclude-gpu-ids", " GPU-c "},
                          {"stowage.dev/topology", "numa-strict"}};
    const auto spec = spec_of(object);
    const auto& ask = spec.containers.at(1).gpu;
    EXPECT_EQ(ask.filter, (core::CardFilter{.models_any = {"Tesla T4", "Tesla-T4", "A10"},
                                            .models_none = {"A100"},
                                            .ids_any = {"GPU-a", "GPU-b"},
                                            .ids_none = {"GPU-c"}}))
        << resource;
    EXPECT_EQ(ask.topology, Topology::numa_strict) << resource;
    EXPECT_EQ(spec.containers[0].gpu, core::GpuRequest()) << resource;
    // A node label has dashes where the model has blanks; a partial name does not match.
    EXPECT_TRUE(core::accepts_model(ask.filter, "tesla-t4"));
    EXPECT_FALSE(core::accepts_model(ask.filter, "NVIDIA A10"));
  }
}

TEST(Wishes, ForATopologyAreOneOfFiveWords) {
  const struct {
    const char* word;
    Topology topology;
  } rows[] = {{"none", Topology::none},
              {"numa", Topology::numa},
              {"numa-strict", Topology::numa_strict},
              {"link", Topology::link},
              {" link-strict ", Topology::link_strict},
              {"", Topology::none}};
  auto object = asking("nvidia.com/gpu");
  for (const auto& row : rows) {
    object.annotations["stowage.dev/topology"] = row.word;
    EXPECT_EQ(spec_of(object).containers[1].gpu.topology, row.topology) << row.word;
  }
  object.annotations["stowage.dev/topology"] = "nvlink";
  EXPECT_EQ(error_of(object),
            "pod ml/train: annotation stowage.dev/topology is \"nvlink\"; write none, numa, "
            "numa-strict, link or link-strict");
}

TEST(Wishes, ForAPolicyNameOneHalfOrBoth) {
  const struct {
    const char* name;
    Annotations annotations;
    core::PolicyWish wish;
  } rows[] = {
      {"nothing", {}, {}},
      {"a policy with the card policy that belongs to it",
       {{"stowage.dev/policy", "fgd"}},
       {.node = NodePolicy::fgd, .card = CardPolicy::fgd}},
      {"both halves in one",
       {{"stowage.dev/policy", "fgd/spread"}},
       {.node = NodePolicy::fgd, .card = CardPolicy::spread}},
      {"the node alone", {{"stowage.dev/node-policy", "spread"}}, {.node = NodePolicy::spread}},
      {"the card alone", {{"stowage.dev/card-policy", "binpack"}}, {.card = CardPolicy::binpack}},
      {"a half counts before the whole",
       {{"stowage.dev/policy", "fgd"}, {"stowage.dev/card-policy", "first"}},
       {.node = NodePolicy::fgd, .card = CardPolicy::first}},
      {"blanks are nothing", {{"stowage.dev/policy", "  "}}, {}},
  };
  for (const auto& row : rows) {
    for (const char* resource : {"nvidia.com/gpu", "cpu"}) {  // also for pods without cards
      auto object = asking(resource);
      object.annotations = row.annotations;
      EXPECT_EQ(spec_of(object).wish, row.wish) << row.name;
    }
  }
}

TEST(Wishes, ForAPolicyThatIsNotKnownAreRefusedWithTheNearest) {
  const struct {
    const char* key;
    const char* words;
  } rows[] = {
      {"stowage.dev/policy", "unknown policy \"binpak\"; the nearest is \"binpack\""},
      {"stowage.dev/node-policy", "unknown node policy \"binpak\"; the nearest is \"binpack\""},
      {"stowage.dev/card-policy", "unknown card policy \"binpak\"; the nearest is \"binpack\""},
  };
  for (const auto& row : rows) {
    auto object = asking("nvidia.com/gpu");
    object.annotations[row.key] = "binpak";
    EXPECT_EQ(error_of(object),
              std::string("pod ml/train: annotation ") + row.key + ": " + row.words);
    object.annotations[row.key] = std::string(100000, 'x');
    EXPECT_LT(error_of(object).size(), 300U);
  }
}

TEST(Wishes, ForCardsInTwoWaysAreRefused) {
  auto object = asking("nvidia.com/vgpu-number");
  object.annotations = {{"nvidia.com/include-gpu-type", "A100"}, {"stowage.dev/gpu-model", "T4"}};
  EXPECT_EQ(error_of(object),
            "pod ml/train: annotation stowage.dev/gpu-model chooses models, and so do the "
            "annotations of dialect vgpu; keep one of them");
  object.annotations = {{"nvidia.com/exclude-gpu-uuid", "GPU-a"},
                        {"stowage.dev/exclude-gpu-ids", "GPU-b"}};
  EXPECT_EQ(error_of(object),
            "pod ml/train: annotation stowage.dev/exclude-gpu-ids chooses cards, and so do the "
            "annotations of dialect vgpu; keep one of them");
  // Models and card ids can be combined; if there are two topologies or policies, ours count.
  object.annotations = {
      {"nvidia.com/include-gpu-type", "A100"},        {"stowage.dev/gpu-ids", "GPU-b"},
      {"nvidia.com/device-topology-mode", "numa"},    {"stowage.dev/topology", "link"},
      {"nvidia.com/node-scheduler-policy", "spread"}, {"stowage.dev/node-policy", "binpack"}};
  const auto spec = spec_of(object);
  EXPECT_EQ(spec.containers[1].gpu.topology, Topology::link);
  EXPECT_EQ(spec.wish.node, NodePolicy::binpack);
}

TEST(Wishes, OfAPodThatHasItsNodeAreNoReasonNotToCountIt) {
  for (const char* key : {"stowage.dev/policy", "stowage.dev/topology"}) {
    auto object = asking("nvidia.com/gpu");
    object.annotations[key] = "nonsense";
    EXPECT_NE(error_of(object), "no error");
    object.node = "n1";
    EXPECT_EQ(spec_of(object).containers[1].gpu.count, 1) << key;
  }
}

}  // namespace
}  // namespace stowage::dialect
