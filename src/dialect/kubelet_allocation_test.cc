#include "dialect/kubelet_allocation.h"

#include <gtest/gtest.h>

namespace stowage::dialect {
namespace {

core::NodeSpec node() {
  core::NodeSpec node{.name = "n1"};
  for (const char* id : {"GPU-a", "GPU-b", "MIG-c"}) {
    node.cards.push_back(
        {.id = id, .index = static_cast<std::int32_t>(node.cards.size()), .memory_mib = 1000});
  }
  return node;
}

core::ContainerSpec container(const std::string& name, std::int32_t cards,
                              core::Phase phase = core::Phase::app) {
  core::ContainerSpec spec{.name = name, .phase = phase};
  spec.gpu.count = cards;
  return spec;
}

// "0,1|-": the cards of each container.
std::string given(const std::vector<core::ContainerSpec>& containers,
                  const KubeletAllocation& allocation) {
  core::PodSpec pod{.uid = "u", .name = "ml/p", .containers = containers};
  const auto cards = cards_by_kubelet(pod, node(), allocation);
  if (!cards) return cards.error().message;
  if (!*cards) return "nothing";
  std::string text;
  for (const auto& shares : (*cards)->containers) {
    if (!text.empty()) text += '|';
    std::string list;
    for (const auto& share : shares) list += (list.empty() ? "" : ",") + std::to_string(share.card);
    text += list.empty() ? "-" : list;
  }
  return text;
}

TEST(KubeletAllocation, ADeviceSpeaksOfACard) {
  EXPECT_EQ(card_of_device("GPU-b", node()), 1U);
  EXPECT_EQ(card_of_device("GPU-b::3", node()), 1U);
  EXPECT_EQ(card_of_device("MIG-c", node()), 2U);
  for (const char* other : {"", "GPU", "GPU-z", "GPU-a0", "::", "gpu-a"}) {
    EXPECT_EQ(card_of_device(other, node()), std::nullopt) << other;
  }
}

TEST(KubeletAllocation, NamesTheCardsOfEachContainer) {
  using core::Phase;
  EXPECT_EQ(given({container("main", 2)}, {{"main", {"GPU-b", "GPU-a"}}}), "0,1");
  EXPECT_EQ(given({container("main", 1), container("side", 0), container("more", 1)},
                  {{"main", {"MIG-c"}}, {"more", {"GPU-a"}}}),
            "2|-|0");
  EXPECT_EQ(given({container("main", 1)}, {{"main", {"GPU-a::1", "net-0"}}}), "0");
  EXPECT_EQ(given({container("first", 1, Phase::init), container("main", 2)},
                  {{"main", {"GPU-b", "MIG-c"}}}),
            "1|1,2");
}

TEST(KubeletAllocation, WhatIsNotOfCardsSaysNothing) {
  EXPECT_EQ(given({container("main", 1)}, {}), "nothing");
  EXPECT_EQ(given({container("main", 1)}, {{"main", {"nvidia7", "rdma/hca"}}}), "nothing");
  EXPECT_EQ(given({container("main", 0)}, {{"main", {"GPU-a"}}}), "nothing");
}

TEST(KubeletAllocation, AnotherNumberIsAnError) {
  EXPECT_EQ(given({container("main", 2)}, {{"main", {"GPU-a"}}}),
            "container \"main\" asks for 2 cards, and the kubelet has given it 1");
  EXPECT_EQ(given({container("main", 1)}, {{"main", {"GPU-a", "GPU-b"}}}),
            "container \"main\" asks for 1 cards, and the kubelet has given it 2");
  EXPECT_EQ(given({container("main", 1), container("more", 1)}, {{"main", {"GPU-a"}}}),
            "container \"more\" asks for 1 cards, and the kubelet has given it 0");
  EXPECT_EQ(given({container("first", 2, core::Phase::init), container("main", 1)},
                  {{"main", {"GPU-a"}}}),
            "container \"first\" asks for 2 cards, and the kubelet has given it 1");
}

TEST(KubeletAllocation, SharesAreWhatWasAskedFor) {
  core::ContainerSpec share = container("main", 1);
  share.gpu.milli = 300;
  share.gpu.memory_mib = 200;
  const core::PodSpec pod{.uid = "u", .name = "ml/p", .containers = {share}};
  const auto cards = cards_by_kubelet(pod, node(), {{"main", {"GPU-b::0"}}});
  ASSERT_TRUE(cards && *cards);
  EXPECT_EQ((*cards)->containers.at(0).at(0),
            (core::CardShare{.card = 1, .milli = 300, .memory_mib = 200}));
}

}  // namespace
}  // namespace stowage::dialect
