#include "gpu/card_list.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace stowage::gpu {
namespace {

Inventory cards(int count) {
  Inventory inventory;
  for (int i = 0; i < count; ++i) {
    inventory.cards.push_back({.id = fmt::format("GPU-{}", i),
                               .index = i,
                               .model = "H100",
                               .memory_mib = 81559,
                               .numa = i % 2});
  }
  return inventory;
}

CardInfo instance(int card, int position) {
  return {.id = fmt::format("MIG-{}-{}", card, position),
          .index = card,
          .mig = Mig{.parent = fmt::format("GPU-{}", card), .position = position}};
}

std::string words_of(const CardList& list) {
  std::string words;
  for (const core::Card& card : list.cards) {
    words += fmt::format("{}={}{} ", card.index, card.id, card.healthy ? "" : "!");
  }
  return words;
}

TEST(CardList, HasWhatTheInventoryHas) {
  const HealthTracker keeper({});
  const CardList list = cards_of(cards(2), keeper);
  ASSERT_EQ(list.cards.size(), 2U);
  EXPECT_EQ(list.cards[1], (core::Card{.id = "GPU-1",
                                       .index = 1,
                                       .model = "H100",
                                       .memory_mib = 81559,
                                       .healthy = true,
                                       .numa = 1}));
  EXPECT_FALSE(list.links.known());
  EXPECT_EQ(list.left_out, 0U);
}

TEST(CardList, UnhealthyOrSilentCardsAreNotHealthy) {
  Inventory inventory = cards(3);
  HealthTracker keeper({});
  keeper.observe(inventory, {});
  keeper.observe(Fault{.card = "GPU-1", .xid = 79}, {});
  inventory.cards[2].answers = false;
  EXPECT_EQ(words_of(cards_of(inventory, keeper)), "0=GPU-0 1=GPU-1! 2=GPU-2! ");
}

TEST(CardList, InstancesHaveIndicesOfTheirOwnAndLinksFollowTheOrder) {
  Inventory inventory = cards(3);
  inventory.cards = {instance(0, 0), instance(0, 3), inventory.cards[1], inventory.cards[2]};
  inventory.links = {.cards = 4,
                     .score = {0, 60, 20, 10, 60, 0, 20, 10, 20, 20, 0, 100, 10, 10, 100, 0}};
  const HealthTracker keeper({});
  const CardList list = cards_of(inventory, keeper);
  EXPECT_EQ(words_of(list), "1=GPU-1 2=GPU-2 100=MIG-0-0 103=MIG-0-3 ");
  EXPECT_EQ(list.links.cards, 4);
  EXPECT_EQ(list.links.between(0, 1), 100);
  EXPECT_EQ(list.links.between(1, 2), 10);
  EXPECT_EQ(list.links.between(2, 3), 60);
  EXPECT_EQ(instance_index(2, 2), 302);
}

TEST(CardList, IsNoLongerThanTheEngineTakes) {
  const HealthTracker keeper({});
  const CardList list = cards_of(cards(70), keeper);
  EXPECT_EQ(list.cards.size(), core::kMaxCardsPerNode);
  EXPECT_EQ(list.left_out, 6U);
}

TEST(CardList, NoIndexIsThereTwice) {
  Inventory inventory = cards(2);
  inventory.cards[1].index = 0;
  const HealthTracker keeper({});
  const CardList list = cards_of(inventory, keeper);
  EXPECT_EQ(words_of(list), "0=GPU-0 ");
  EXPECT_EQ(list.left_out, 1U);
}

}  // namespace
}  // namespace stowage::gpu
