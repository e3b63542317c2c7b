#include "dialect/node_resources.h"

#include <gtest/gtest.h>

#include "dialect/dialect.h"
#include "dialect/testing.h"

namespace stowage::dialect {
namespace {

const std::vector<std::string> kAll = published_dialects();

std::vector<core::Card> two_cards() {
  return {{.id = "GPU-0", .index = 0, .memory_mib = 143'771},
          {.id = "GPU-1", .index = 1, .memory_mib = 81'920, .slots = 4, .healthy = false}};
}

NodeOffer offer(testing::Amounts amounts, const std::string& record) {
  NodeObject node = testing::node(amounts);
  node.resource_version = "7";
  if (!record.empty()) node.annotations[std::string(kNodeResourcesAnnotation)] = record;
  return read_offer(node);
}

std::string words(const NodeOfferPlan& plan) {
  std::string text = plan.changes ? "" : "nothing;";
  for (const auto& [name, amount] : plan.write) text += " " + name + "=" + std::to_string(amount);
  for (const auto& name : plan.remove) text += " -" + name;
  for (const auto& name : plan.foreign) text += " !" + name;
  return text + " [" + record_text(plan.record) + "]";
}

TEST(NodeResources, EachDialectHasItsOwnUnits) {
  EXPECT_EQ(kAll, (std::vector<std::string>{"native", "vcuda", "vcuda-nvidia", "alnair", "elastic",
                                            "elastic-com", "nano"}));
  EXPECT_EQ(node_amounts(two_cards(), {.dialects = kAll}),
            (NodeAmounts{{"stowage.dev/gpu", 104},
                         {"stowage.dev/gpu-core", 200},
                         {"stowage.dev/gpu-memory", 225'691},
                         {"tencent.com/vcuda-core", 200},
                         {"tencent.com/vcuda-memory", 561 + 320},
                         {"nvidia.com/vcuda-core", 200},
                         {"nvidia.com/vcuda-memory", 225'691},
                         {"alnair/vgpu-memory", 140 + 80},
                         {"alnair/vgpu-compute", 200},
                         {"elasticgpu.io/gpu-core", 200},
                         {"elasticgpu.io/gpu-memory", 225'691},
                         {"elasticgpu.com/gpu-core", 200},
                         {"elasticgpu.com/gpu-memory", 225'691},
                         {"nano-gpu/gpu-percent", 200}}));
  EXPECT_EQ(node_amounts(two_cards(), {.dialects = {"nano", "nvidia"}}),
            (NodeAmounts{{"nano-gpu/gpu-percent", 200}}))
      << "nvidia.com/gpu belongs to NVIDIA's plugin";
  EXPECT_EQ(node_amounts({}, {.dialects = kAll}), NodeAmounts());
  const std::vector<core::Card> unknown{{.id = "GPU-0"}};
  EXPECT_EQ(node_amounts(unknown, {.dialects = {"native"}, .requests_per_card = 1}),
            (NodeAmounts{{"stowage.dev/gpu", 1}, {"stowage.dev/gpu-core", 100}}))
      << "its memory is unknown";
}

TEST(NodeResources, NamesOfTheChosenDialects) {
  const std::vector<std::string> chosen{"native", "elastic"};
  EXPECT_TRUE(is_published("stowage.dev/gpu", chosen));
  EXPECT_TRUE(is_published("elasticgpu.io/gpu-memory", chosen));
  EXPECT_FALSE(is_published("nano-gpu/gpu-percent", chosen));
  EXPECT_FALSE(is_published("nvidia.com/gpu", kAll));
}

TEST(NodeResources, WhatIsMissingIsWrittenAndWhatIsThereIsLeft) {
  const NodeAmounts wanted{{"nano-gpu/gpu-percent", 200}, {"stowage.dev/gpu-core", 200}};
  const struct {
    const char* name;
    testing::Amounts there;
    std::string record;
    std::string plan;
  } rows[] = {
      {"a new node",
       {{"cpu", "1"}},
       "",
       " nano-gpu/gpu-percent=200 stowage.dev/gpu-core=200 "
       "[nano-gpu/gpu-percent=200,stowage.dev/gpu-core=200]"},
      {"as wanted",
       {{"nano-gpu/gpu-percent", "200"}, {"stowage.dev/gpu-core", "200"}},
       "nano-gpu/gpu-percent=200,stowage.dev/gpu-core=200",
       "nothing; [nano-gpu/gpu-percent=200,stowage.dev/gpu-core=200]"},
      {"the kubelet has reset one",
       {{"nano-gpu/gpu-percent", "0"}, {"stowage.dev/gpu-core", "200"}},
       "nano-gpu/gpu-percent=200,stowage.dev/gpu-core=200",
       " nano-gpu/gpu-percent=200 [nano-gpu/gpu-percent=200,stowage.dev/gpu-core=200]"},
      {"another plugin has one",
       {{"nano-gpu/gpu-percent", "800"}},
       "",
       " stowage.dev/gpu-core=200 !nano-gpu/gpu-percent [stowage.dev/gpu-core=200]"},
      {"another plugin has one, all of it unhealthy",
       {{"nano-gpu/gpu-percent", "0"}},
       "",
       " stowage.dev/gpu-core=200 !nano-gpu/gpu-percent [stowage.dev/gpu-core=200]"},
      {"another plugin takes one over",
       {{"nano-gpu/gpu-percent", "800"}, {"stowage.dev/gpu-core", "200"}},
       "nano-gpu/gpu-percent=200,stowage.dev/gpu-core=200",
       " !nano-gpu/gpu-percent [stowage.dev/gpu-core=200]"},
      {"the cards have changed",
       {{"nano-gpu/gpu-percent", "1600"}, {"stowage.dev/gpu-core", "1600"}},
       "nano-gpu/gpu-percent=1600,stowage.dev/gpu-core=1600",
       " nano-gpu/gpu-percent=200 stowage.dev/gpu-core=200 "
       "[nano-gpu/gpu-percent=200,stowage.dev/gpu-core=200]"},
      {"a dialect was taken out",
       {{"nano-gpu/gpu-percent", "200"},
        {"stowage.dev/gpu-core", "200"},
        {"alnair/vgpu-compute", "200"}},
       "alnair/vgpu-compute=200,nano-gpu/gpu-percent=200,stowage.dev/gpu-core=200",
       " -alnair/vgpu-compute [nano-gpu/gpu-percent=200,stowage.dev/gpu-core=200]"},
      {"the record cannot be read",
       {{"nano-gpu/gpu-percent", "200"}},
       "nano-gpu/gpu-percent=x",
       " stowage.dev/gpu-core=200 !nano-gpu/gpu-percent [stowage.dev/gpu-core=200]"},
      {"an absurd amount",
       {{"nano-gpu/gpu-percent", "1e40"}, {"stowage.dev/gpu-core", "200"}},
       "nano-gpu/gpu-percent=200,stowage.dev/gpu-core=200",
       " !nano-gpu/gpu-percent [stowage.dev/gpu-core=200]"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(words(plan_offer(offer(row.there, row.record), wanted)), row.plan) << row.name;
  }
}

TEST(NodeResources, NothingWantedRemovesWhatIsOurs) {
  const auto there =
      offer({{"nano-gpu/gpu-percent", "800"},
             {"stowage.dev/gpu-core", "200"},
             {"alnair/vgpu-compute", "0"}},
            "alnair/vgpu-compute=200,nano-gpu/gpu-percent=200,stowage.dev/gpu-core=200");
  EXPECT_EQ(words(plan_offer(there, {})), " -alnair/vgpu-compute -stowage.dev/gpu-core []")
      << "the third was taken over";
  EXPECT_EQ(words(plan_offer(offer({{"nano-gpu/gpu-percent", "800"}}, ""), {})), "nothing; []");
  EXPECT_EQ(words(plan_offer(offer({}, "nano-gpu/gpu-percent=200"), {})), " []")
      << "the record goes as well";
  EXPECT_EQ(words(plan_offer(offer({}, "?"), {})), " []");
}

// Applied, a plan leaves nothing to do.
TEST(NodeResources, APlanIsDoneOnce) {
  const NodeAmounts wanted = node_amounts(two_cards(), {.dialects = kAll});
  NodeOffer there = offer({{"cpu", "1"}}, "");
  const NodeOfferPlan plan = plan_offer(there, wanted);
  ASSERT_TRUE(plan.changes);
  there.recorded = plan.record;
  there.recorded_text = true;
  there.capacity = there.allocatable = plan.write;
  EXPECT_FALSE(plan_offer(there, wanted).changes);
  NodeObject node = testing::node({});
  node.annotations[std::string(kNodeResourcesAnnotation)] = record_text(plan.record);
  EXPECT_EQ(recorded_amounts(node), plan.record);
}

TEST(NodeResources, AHostileRecordIsBounded) {
  NodeObject node = testing::node({});
  std::string& text = node.annotations[std::string(kNodeResourcesAnnotation)];
  for (const char* bad : {"a", "a=", "a=0", "a=-1", "a=1,b", "=", "a=99999999999999999999"}) {
    text = bad;
    EXPECT_TRUE(recorded_amounts(node).empty()) << bad;
  }
  text.clear();
  for (int i = 0; i < 65; ++i) text += "a" + std::to_string(i) + "=1,";
  EXPECT_TRUE(recorded_amounts(node).empty());
  text = std::string(100'000, 'a') + "=1";
  EXPECT_TRUE(recorded_amounts(node).empty());
}

// What we publish is derived from the cards, so it is no second source of them.
TEST(NodeResources, PublishedResourcesAreNoCards) {
  const NodeAmounts amounts = node_amounts(two_cards(), {.dialects = kAll});
  NodeObject node = testing::node({{"cpu", "8"}, {"memory", "1Gi"}, {"pods", "110"}});
  node.annotations[std::string(kInventoryAnnotation)] = inventory_text(two_cards(), {});
  const auto before = to_spec(node);
  ASSERT_TRUE(before) << before.error().message;
  for (const auto& [name, amount] : amounts) {
    node.capacity[name] = node.allocatable[name] = base::Quantity::of(amount);
  }
  node.annotations[std::string(kNodeResourcesAnnotation)] = record_text(amounts);
  const auto after = to_spec(node);
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(after->node.cards, before->node.cards);
  EXPECT_EQ(after->node.allocatable, before->node.allocatable) << "they are no plain resources";
  EXPECT_TRUE(after->notes.empty()) << after->notes.front();
  const auto& offers = after->node.offers;
  EXPECT_NE(std::find(offers.begin(), offers.end(), "elastic"), offers.end())
      << "its pods are accepted here now";

  node.annotations.erase(std::string(kInventoryAnnotation));
  const auto without = to_spec(node);
  ASSERT_TRUE(without);
  EXPECT_TRUE(without->node.cards.empty()) << "without an inventory they count nothing";
  node.annotations.erase(std::string(kNodeResourcesAnnotation));
  const auto theirs = to_spec(node);
  ASSERT_TRUE(theirs);
  EXPECT_FALSE(theirs->node.cards.empty()) << "without the record another plugin publishes them";
}

// Another plugin's count stays a source while we publish other names.
TEST(NodeResources, OtherPluginsStillCount) {
  NodeObject node = testing::node({{"nvidia.com/gpu", "2"}, {"stowage.dev/gpu", "800"}});
  node.annotations[std::string(kNodeResourcesAnnotation)] = "stowage.dev/gpu=800";
  const auto reading = to_spec(node);
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->node.cards.size(), 2U);
}

}  // namespace
}  // namespace stowage::dialect
