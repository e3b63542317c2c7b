// Pods on nodes that cannot be read as a whole.
#include <gtest/gtest.h>

#include "dialect/dialect.h"
#include "dialect/testing.h"

namespace stowage::dialect {
namespace {

using testing::container;
using testing::pod;

// "cards x milli/MiB" of each container with cards.
std::string asks_of(const core::PodSpec& spec) {
  std::string text;
  for (const auto& container : spec.containers) {
    const core::GpuRequest& gpu = container.gpu;
    if (gpu.count == 0) continue;
    text += text.empty() ? "" : " ";
    text += std::to_string(gpu.count);
    if (gpu.milli) text += "x" + std::to_string(*gpu.milli);
    if (gpu.memory_mib) text += "/" + std::to_string(*gpu.memory_mib);
  }
  return text;
}

core::PodSpec read_of(PodObject object) {
  object.node = "n1";
  EXPECT_FALSE(to_spec(object, {})) << "it can be read";
  core::PodSpec spec = readable_part(object, {});
  EXPECT_TRUE(core::validate(spec));
  EXPECT_EQ(spec.uid, object.uid);
  EXPECT_EQ(spec.name, "ml/train");
  return spec;
}

TEST(ReadablePart, OfTwoDialectsBothCount) {
  EXPECT_EQ(asks_of(read_of(pod(
                {container("a", {{"nvidia.com/gpu", "2"}, {"tencent.com/vcuda-core", "300"}})}))),
            "2 3");
  EXPECT_EQ(asks_of(read_of(pod({container("a", {{"stowage.dev/gpu", "3"},
                                                 {"stowage.dev/gpu-core", "30"},
                                                 {"stowage.dev/gpu-memory", "100"}}),
                                 container("b", {{"nvidia.com/gpu", "4"}})}))),
            "3x300/100 4");
  EXPECT_EQ(asks_of(read_of(pod({container("a", {{"nvidia.com/gpu", "1"},
                                                 {"nano-gpu/gpu-percent", "150"},
                                                 {"elasticgpu.io/gpu-core", "20"}})}))),
            "1 1x200 1");
}

TEST(ReadablePart, WhatItAsksForBesidesCardsCounts) {
  auto object = pod({container("a", {{"cpu", "2"},
                                     {"memory", "1Gi"},
                                     {"example.com/nic", "1"},
                                     {"nvidia.com/gpu", "1"},
                                     {"nano-gpu/gpu-percent", "50"}})});
  object.priority = 7;
  object.rules.selector["zone"] = "a";
  const core::PodSpec spec = read_of(object);
  const core::Resources all = core::effective_resources(spec);
  EXPECT_EQ(all.cpu_milli, 2000);
  EXPECT_EQ(all.memory_bytes, std::int64_t{1} << 30U);
  EXPECT_EQ(all.extended, (std::map<std::string, std::int64_t>{{"example.com/nic", 1}}));
  EXPECT_EQ(spec.priority, 7);
  EXPECT_EQ(spec.rules.selector.size(), 1U);
}

TEST(ReadablePart, CardsThatCannotBeReadAreAllCards) {
  for (const auto& amounts : {testing::Amounts{{"nvidia.com/gpu", "65"}},
                              {{"nvidia.com/gpu", "1500m"}},
                              {{"nvidia.com/gpu", "1"}, {"stowage.dev/gpu-core", "150"}}}) {
    EXPECT_EQ(asks_of(read_of(pod({container("a", amounts)}))), "64");
  }
}

TEST(ReadablePart, AnAmountThatCannotBeReadIsMoreThanAnyNodeHas) {
  const core::PodSpec spec =
      read_of(pod({container("a", {{"cpu", "1E"}, {"memory", "1Gi"}, {"nvidia.com/gpu", "1"}})}));
  const core::Resources all = core::effective_resources(spec);
  EXPECT_GE(all.cpu_milli, std::int64_t{1} << 48U);
  EXPECT_EQ(all.memory_bytes, std::int64_t{1} << 30U);
  EXPECT_EQ(asks_of(spec), "1");
}

TEST(ReadablePart, MoreContainersThanAPodMayHaveAreAddedUp) {
  std::vector<ContainerObject> many;
  for (int i = 0; i < 300; ++i) {
    many.push_back(container(("c" + std::to_string(i)).c_str(), {{"cpu", "10m"}}));
  }
  many[5] =
      container("c5", {{"cpu", "10m"}, {"nvidia.com/gpu", "2"}, {"nano-gpu/gpu-percent", "50"}});
  const core::PodSpec spec = read_of(pod(many));
  EXPECT_EQ(core::effective_resources(spec).cpu_milli, 3000);
  EXPECT_EQ(asks_of(spec), "2 1x500");
}

}  // namespace
}  // namespace stowage::dialect
