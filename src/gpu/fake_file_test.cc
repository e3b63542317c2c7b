#include "gpu/fake_file.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace stowage::gpu {
namespace {

FakeCards parsed(const std::string& text) {
  auto cards = parse_fake_cards(text, "f.yaml", "n1");
  EXPECT_TRUE(cards.has_value()) << cards.error().message;
  return cards.value_or(FakeCards{});
}

TEST(FakeFile, CountAloneMakesCardsWithStableIds) {
  const FakeCards cards = parsed("count: 8\nmodel: NVIDIA H100 80GB HBM3\nmemoryMiB: 81559\n");
  ASSERT_EQ(cards.inventory.cards.size(), 8U);
  EXPECT_EQ(cards.samples.size(), 8U);
  EXPECT_TRUE(cards.faults.empty());
  EXPECT_FALSE(cards.inventory.links.known());
  std::set<std::string> ids;
  for (const CardInfo& card : cards.inventory.cards) {
    EXPECT_EQ(card.id.size(), 40U) << card.id;
    EXPECT_TRUE(ids.insert(card.id).second);
    EXPECT_EQ(card.model, "NVIDIA H100 80GB HBM3");
    EXPECT_EQ(card.memory_mib, 81559);
  }
  EXPECT_EQ(cards.inventory.cards[0].id, made_up_id("GPU-", "n1/0"));
  EXPECT_EQ(cards, parsed("count: 8\nmodel: NVIDIA H100 80GB HBM3\nmemoryMiB: 81559\n"));
  EXPECT_NE(cards.inventory.cards[0].id, parsed("node: n2\ncount: 1\n").inventory.cards[0].id);
}

TEST(FakeFile, EverythingCanBeSaidAboutACard) {
  const FakeCards cards = parsed(R"(
driver: 550.54.15
driverLife: 3
cards:
- index: 5
  id: GPU-x
  model: T4
  brand: Tesla
  memoryMiB: 15360
  busId: "00000000:5E:00.0"
  minor: 2
  numa: 1
  exclusive: true
  utilisation: 72.5
  memoryUsedMiB: 4000
  powerWatts: 69.123
  temperatureC: 61
  eccUncorrected: 2
  rowRemapFailed: false
  needsReset: true
  processes: [{pid: 20, memoryMiB: 3000}, {pid: 10}]
  faults: [{xid: 31}, {kind: ecc_uncorrected, text: two of them}]
)");
  EXPECT_EQ(cards.inventory.driver_version, "550.54.15");
  EXPECT_EQ(cards.inventory.driver_life, 3U);
  ASSERT_EQ(cards.inventory.cards.size(), 1U);
  EXPECT_EQ(cards.inventory.cards[0], (CardInfo{.id = "GPU-x",
                                                .index = 5,
                                                .minor = 2,
                                                .model = "T4",
                                                .brand = "Tesla",
                                                .bus_id = "00000000:5E:00.0",
                                                .memory_mib = 15360,
                                                .numa = 1,
                                                .exclusive = true}));
  EXPECT_EQ(cards.samples[0], (CardSample{.id = "GPU-x",
                                          .utilisation_permille = 725,
                                          .memory_used_mib = 4000,
                                          .power_mw = 69123,
                                          .temperature_c = 61,
                                          .ecc_uncorrected = 2,
                                          .row_remap_failed = false,
                                          .needs_reset = true,
                                          .processes = {{{10, std::nullopt}, {20, 3000}}}}));
  EXPECT_EQ(cards.faults,
            (std::vector<Fault>{
                {.kind = FaultKind::xid, .card = "GPU-x", .xid = 31},
                {.kind = FaultKind::ecc_uncorrected, .card = "GPU-x", .text = "two of them"}}));
}

TEST(FakeFile, CardsOfTheCountCanBeChanged) {
  const FakeCards cards = parsed(R"(
count: 3
model: H100
cards:
- {index: 0, absent: true}
- {index: 2, lost: true}
- {index: 7, model: T4}
)");
  ASSERT_EQ(cards.inventory.cards.size(), 3U);
  EXPECT_EQ(cards.inventory.cards[0].index, 1);
  EXPECT_FALSE(cards.inventory.cards[1].answers);
  EXPECT_EQ(cards.inventory.cards[2].model, "T4");
  EXPECT_EQ(cards.samples.size(), 2U) << "a lost card says nothing";
  ASSERT_EQ(cards.faults.size(), 1U);
  EXPECT_EQ(cards.faults[0].kind, FaultKind::lost);
}

TEST(FakeFile, ADividedCardHasInstances) {
  const FakeCards cards = parsed(R"(
count: 2
model: H100
cards:
- index: 0
  eccUncorrected: 3
  faults: [{xid: 48}]
  mig:
  - {profile: 1g.10gb, memoryMiB: 9984, gpuInstance: 7, computeInstance: 0, memoryUsedMiB: 5}
  - {profile: 2g.20gb, memoryMiB: 19968, gpuInstance: 3, id: MIG-y, faults: [{xid: 31}]}
)");
  ASSERT_EQ(cards.inventory.cards.size(), 3U);
  const CardInfo& first = cards.inventory.cards[0];
  EXPECT_EQ(first.model, "H100 MIG 1g.10gb");
  EXPECT_TRUE(first.id.starts_with("MIG-"));
  EXPECT_EQ(first.mig->parent, made_up_id("GPU-", "n1/0"));
  EXPECT_EQ(first.mig->gpu_instance, 7);
  EXPECT_EQ(cards.inventory.cards[1].mig->position, 1);
  EXPECT_EQ(cards.samples[0].memory_used_mib, 5);
  EXPECT_EQ(cards.samples[1].ecc_uncorrected, 3U);
  EXPECT_EQ(cards.faults.size(), 3U) << "that of the card for each, and that of the second";
}

TEST(FakeFile, Links) {
  EXPECT_EQ(parsed("count: 2\nnvlinks: 18\n").inventory.links,
            (core::LinkMatrix{.cards = 2, .score = {0, 1800, 1800, 0}}));
  EXPECT_EQ(parsed("count: 3\nlinks: [[2, 0, 120]]\n").inventory.links,
            (core::LinkMatrix{.cards = 3, .score = {0, 0, 120, 0, 0, 0, 120, 0, 0}}));
  EXPECT_EQ(
      parsed("count: 3\nnvlinks: 1\ncards:\n- index: 0\n  mig: [{profile: a}, {profile: b}]\n")
          .inventory.links,
      (core::LinkMatrix{.cards = 4,
                        .score = {0, 60, 0, 0, 60, 0, 0, 0, 0, 0, 0, 100, 0, 0, 100, 0}}));
}

TEST(FakeFile, NoCardsCanBeSaidToo) {
  EXPECT_TRUE(parsed("count: 0\n").inventory.cards.empty());
  EXPECT_TRUE(parsed("cards: []\n").inventory.cards.empty());
}

struct Wrong {
  const char* text;
  const char* message;
};
const Wrong kWrong[] = {
    {"", "f.yaml: count: the file has no cards: write count, or cards"},
    {"[1]", "f.yaml: expected a mapping of keys, found a list"},
    {"count: 1\n---\ncount: 2\n", "f.yaml: more than one YAML document"},
    {"count: 1\ncount: 2\n", "f.yaml:2: count: the key appears twice"},
    {"cout: 1\n", "f.yaml:1: count: the file has no cards: write count, or cards"},
    {"count: 1\nmodell: x\n", "f.yaml:2: modell: unknown key; did you mean \"model\"?"},
    {"count: 65\n", "f.yaml:1: count: expected a whole number from 0 to 64, found \"65\""},
    {"count: -1\n", "f.yaml:1: count: expected a whole number from 0 to 64, found \"-1\""},
    {"count: 1.5\n", "f.yaml:1: count: expected a whole number from 0 to 64, found \"1.5\""},
    {"count: []\n", "f.yaml:1: count: expected a whole number, found a list"},
    {"count: 1\nmodel:\n", "f.yaml:2: model: expected a text, found nothing"},
    {"count: 1\nmodel: \"a\\tb\"\n",
     "f.yaml:2: model: expected a text of letters, digits and signs on one line"},
    {"cards: {}\n", "f.yaml:1: cards: expected a list, found a mapping"},
    {"cards: [1]\n", "f.yaml:1: cards[0]: expected a mapping of keys, found \"1\""},
    {"cards:\n- model: x\n", "f.yaml:2: cards[0].index: missing; write the index of the card"},
    {"cards:\n- index: 1\n- index: 1\n", "f.yaml:3: cards[1].index: 1 appears twice"},
    {"cards:\n- index: 1\n  lost: yes\n",
     "f.yaml:3: cards[0].lost: expected true or false, found \"yes\""},
    {"cards:\n- index: 1\n  utilisation: 100.1\n",
     "f.yaml:3: cards[0].utilisation: expected a number from 0 to 100 with at most 1 decimals, "
     "found \"100.1\""},
    {"cards:\n- index: 1\n  utilisation: 1.25\n",
     "f.yaml:3: cards[0].utilisation: expected a number from 0 to 100 with at most 1 decimals, "
     "found \"1.25\""},
    {"cards:\n- index: 1\n  powerWatts: nan\n",
     "f.yaml:3: cards[0].powerWatts: expected a number from 0 to 100000 with at most 3 decimals, "
     "found \"nan\""},
    {"cards:\n- index: 1\n  processes: [{memoryMiB: 1}]\n",
     "f.yaml:3: cards[0].processes[0].pid: needed"},
    {"cards:\n- index: 1\n  processes: [{pid: 1}, {pid: 1}]\n",
     "f.yaml:3: cards[0].processes[1].pid: 1 appears twice"},
    {"cards:\n- index: 1\n  faults: [{}]\n",
     "f.yaml:3: cards[0].faults[0].kind: expected one of xid, lost, ecc_uncorrected, "
     "row_remap_failure, reset_required"},
    {"cards:\n- index: 1\n  faults: [{kind: lots}]\n",
     "f.yaml:3: cards[0].faults[0].kind: did you mean \"lost\"?"},
    {"cards:\n- index: 1\n  faults: [{kind: lost, xid: 1}]\n",
     "f.yaml:3: cards[0].faults[0].xid: a fault of kind xid needs the key xid, and no other kind "
     "has it"},
    {"cards:\n- index: 1\n  mig: [{memoryMiB: 5}]\n",
     "f.yaml:3: cards[0].mig[0].profile: missing; write a profile such as 1g.10gb"},
    {"count: 1\ncards: [{index: 3, id: a}, {index: 4, id: a}]\n",
     "f.yaml:2: cards: two cards have the id a"},
    {"count: 2\nlinks: [[0, 5, 100]]\n",
     "f.yaml:2: links: [0, 5, 100]: expected the indices of two cards, and a sum from 0 to "
     "1000000"},
    {"count: 2\nlinks: [[0, 1]]\n",
     "f.yaml:2: links: expected at most 4096 lists of three whole numbers, such as [0, 1, 100]"},
    {"count: 2\nlinks: []\nnvlinks: 1\n", "f.yaml:3: nvlinks: cannot be combined with links"},
    {"count: 64\ncards: [{index: 64}]\n", "f.yaml:2: cards: more than 64 cards"},
    {"a: [\n", "f.yaml:2: end of sequence flow not found"},
};

TEST(FakeFile, WhatIsWrongIsSaidWithItsPlace) {
  for (const Wrong& wrong : kWrong) {
    const auto cards = parse_fake_cards(wrong.text, "f.yaml", "n1");
    ASSERT_FALSE(cards.has_value()) << wrong.text;
    EXPECT_EQ(cards.error().message, wrong.message) << wrong.text;
  }
}

TEST(FakeFile, AliasesDoNotMakeItLong) {
  std::string text = "count: 1\ncards:\n- index: 1\n  processes: &p [";
  for (int i = 1; i <= 1000; ++i) text += "{pid: " + std::to_string(i) + "}, ";
  text += "]\n";
  for (int i = 2; i <= 20; ++i) {
    text += "- {index: " + std::to_string(i) + ", processes: *p}\n";
  }
  const auto cards = parse_fake_cards(text, "f.yaml", "n1");
  ASSERT_FALSE(cards.has_value());
  EXPECT_NE(cards.error().message.find("more than 10000 entries in all"), std::string::npos);
}

}  // namespace
}  // namespace stowage::gpu
