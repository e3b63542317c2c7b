// What NvmlSource reports about healthy cards.
#include "gpu/nvml.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu/nvml_boards.h"
#include "gpu/testing/nvml_world.h"

namespace stowage::gpu {
namespace {

using testing::card_text;
using testing::NvmlWorld;

TEST(Nvml, SaysAllAboutACard) {
  NvmlWorld world(card_text("GPU-a", 3));
  const auto folder = world.script.folder() + "/sys/bus/pci/devices/0000:13:00.0";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/numa_node") << "1\n";
  const auto inventory = world.source.inventory();
  ASSERT_TRUE(inventory.has_value()) << inventory.error().message;
  EXPECT_EQ(inventory->driver_version, "550.54.15");
  EXPECT_EQ(inventory->nvml_version, "12.550.54.15");
  EXPECT_FALSE(inventory->links.known()) << "one card has nobody to be linked to";
  ASSERT_EQ(inventory->cards.size(), 1U);
  EXPECT_EQ(inventory->cards[0], (CardInfo{.id = "GPU-a",
                                           .index = 0,
                                           .minor = 3,
                                           .model = "NVIDIA H100 80GB HBM3",
                                           .brand = "NVIDIA",
                                           .bus_id = "00000000:13:00.0",
                                           .memory_mib = 81559,
                                           .numa = 1}));
  EXPECT_FALSE(world.source.stale());
  EXPECT_EQ(world.source.trouble(), "");
}

TEST(Nvml, KnowsCardsForOneProcessAtATime) {
  for (const auto& [mode, exclusive] :
       {std::pair{"", false}, {"mode 0\n", false}, {"mode 2\n", false}, {"mode 3\n", true}}) {
    NvmlWorld world(card_text("GPU-a", 3) + mode);
    const auto inventory = world.source.inventory();
    ASSERT_TRUE(inventory.has_value()) << inventory.error().message;
    EXPECT_EQ(inventory->cards.at(0).exclusive, exclusive) << mode;
  }
}

TEST(Nvml, SaysHowACardIsDoing) {
  NvmlWorld world(card_text("GPU-a", 0) + "process c 30 500\nprocess c 10 -\nprocess g 30 500\n" +
                  "process g 20 7\nprocess m 40 9\n");
  const auto samples = world.source.sample();
  ASSERT_TRUE(samples.has_value()) << samples.error().message;
  ASSERT_EQ(samples->size(), 1U);
  EXPECT_EQ((*samples)[0],
            (CardSample{.id = "GPU-a",
                        .utilisation_permille = 370,
                        .memory_used_mib = 700,
                        .power_mw = 123456,
                        .temperature_c = 41,
                        .ecc_uncorrected = 0,
                        .row_remap_failed = false,
                        .needs_reset = false,
                        .processes = {{{10, std::nullopt}, {20, 7}, {30, 500}, {40, 9}}}}));
  EXPECT_TRUE(world.source.faults().empty());
}

TEST(Nvml, WhatACardHasNotIsUnset) {
  // A virtual machine, or a card that shares the memory of the CPUs.
  NvmlWorld world("card GPU-a\nname NVIDIA GB10\nfail processes 3\n");
  const auto inventory = world.source.inventory();
  ASSERT_TRUE(inventory.has_value());
  ASSERT_EQ(inventory->cards.size(), 1U);
  EXPECT_EQ(inventory->cards[0],
            (CardInfo{.id = "GPU-a", .index = 0, .model = "NVIDIA GB10", .brand = "Unknown"}));
  const auto samples = world.source.sample();
  ASSERT_TRUE(samples.has_value());
  ASSERT_EQ(samples->size(), 1U);
  EXPECT_EQ((*samples)[0], CardSample{.id = "GPU-a"});
  EXPECT_TRUE(world.source.faults().empty());
}

TEST(Nvml, OldDriversSayWhatTheyCan) {
  NvmlWorld world(card_text("GPU-a", 0) + "process c 30 500\nprocess g 20 7\n",
                  testing::kOldFakeNvml);
  ASSERT_TRUE(world.source.inventory().has_value());
  const auto samples = world.source.sample();
  ASSERT_TRUE(samples.has_value());
  ASSERT_EQ(samples->size(), 1U);
  const CardSample& sample = (*samples)[0];
  EXPECT_EQ(sample.memory_used_mib, 700 + 551) << "the first version counts what is reserved";
  EXPECT_EQ(sample.processes, (std::vector<Process>{{20, 7}, {30, 500}}));
  EXPECT_EQ(sample.power_mw, 123456);
  EXPECT_EQ(sample.temperature_c, 41);
  EXPECT_FALSE(sample.needs_reset.has_value());
  EXPECT_TRUE(world.source.faults().empty());
}

TEST(Nvml, ManyProcesses) {
  std::string text = card_text("GPU-a", 0);
  for (int pid = 1; pid <= 1000; ++pid) text += fmt::format("process c {} 1\n", pid);
  NvmlWorld world(text);
  const auto samples = world.source.sample();
  ASSERT_TRUE(samples.has_value());
  ASSERT_TRUE((*samples)[0].processes.has_value());
  EXPECT_EQ((*samples)[0].processes->size(), 1000U);
}

TEST(Nvml, AbsurdReadingsAreUnset) {
  NvmlWorld world("card GPU-a\nutilisation 4294967295\npower 4294967295\ntemperature 65535\n");
  const auto samples = world.source.sample();
  ASSERT_TRUE(samples.has_value());
  EXPECT_FALSE((*samples)[0].utilisation_permille.has_value());
  EXPECT_FALSE((*samples)[0].power_mw.has_value());
  EXPECT_FALSE((*samples)[0].temperature_c.has_value());
}

TEST(Nvml, AValueThatFailsOnceLeavesTheOthers) {
  NvmlWorld world(card_text("GPU-a", 0) + "fail power 999\n");
  const auto samples = world.source.sample();
  ASSERT_TRUE(samples.has_value());
  EXPECT_FALSE((*samples)[0].power_mw.has_value());
  EXPECT_EQ((*samples)[0].temperature_c, 41);
  EXPECT_TRUE(world.source.faults().empty());
}

TEST(Nvml, CardsOfOthersAreLeftOut) {
  NvmlWorld world(card_text("GPU-a", 0) + "fail handle 4\n" + card_text("GPU-b", 1));
  const auto inventory = world.source.inventory();
  ASSERT_TRUE(inventory.has_value());
  ASSERT_EQ(inventory->cards.size(), 1U);
  EXPECT_EQ(inventory->cards[0].id, "GPU-b");
  EXPECT_EQ(inventory->cards[0].index, 1);
  EXPECT_EQ(world.source.trouble(), "");
}

TEST(Nvml, AMachineWithoutCardsIsNoError) {
  NvmlWorld world("");
  const auto inventory = world.source.inventory();
  ASSERT_TRUE(inventory.has_value());
  EXPECT_TRUE(inventory->cards.empty());
  EXPECT_TRUE(world.source.sample().value().empty());
}

// ---- divided cards

std::string divided_text() {
  return card_text("GPU-a", 0) +
         "mig MIG-1 7 0\nname NVIDIA H100 80GB HBM3 MIG 1g.10gb\nmemory 9984 0 12\n"
         "slices 1 1 9856\nprocess c 30 12\n"
         "gap\n"
         "mig MIG-2 2 1\nmemory 40448 0 0\nslices 3 1 40448\n" +
         card_text("GPU-b", 1);
}

TEST(Nvml, TheInstancesOfADividedCardAreCards) {
  NvmlWorld world(divided_text());
  const auto inventory = world.source.inventory();
  ASSERT_TRUE(inventory.has_value());
  ASSERT_EQ(inventory->cards.size(), 3U);
  const CardInfo& first = inventory->cards[0];
  EXPECT_EQ(first.id, "MIG-1");
  EXPECT_EQ(first.index, 0);
  EXPECT_EQ(first.minor, 0);
  EXPECT_EQ(first.bus_id, "00000000:10:00.0");
  EXPECT_EQ(first.model, "NVIDIA H100 80GB HBM3 MIG 1g.10gb");
  EXPECT_EQ(first.memory_mib, 9984);
  EXPECT_EQ(first.mig, (Mig{.parent = "GPU-a",
                            .profile = "1g.10gb",
                            .position = 0,
                            .gpu_slices = 1,
                            .compute_slices = 1,
                            .gpu_instance = 7,
                            .compute_instance = 0}));
  const CardInfo& second = inventory->cards[1];
  EXPECT_EQ(second.model, "NVIDIA H100 80GB HBM3 MIG 1c.3g.40gb") << "made up without a name";
  EXPECT_EQ(second.mig->position, 2);
  EXPECT_EQ(inventory->cards[2].id, "GPU-b");
}

TEST(Nvml, InstancesHaveTheirMemoryAndTheErrorsOfTheirCard) {
  NvmlWorld world(divided_text());
  const auto samples = world.source.sample();
  ASSERT_TRUE(samples.has_value());
  ASSERT_EQ(samples->size(), 3U);
  EXPECT_EQ((*samples)[0], (CardSample{.id = "MIG-1",
                                       .memory_used_mib = 12,
                                       .ecc_uncorrected = 0,
                                       .row_remap_failed = false,
                                       .needs_reset = false,
                                       .processes = {{{30, 12}}}}));
  EXPECT_EQ((*samples)[2].power_mw, 123456);
}

TEST(Nvml, AnInstanceThatIsDestroyedIsNoLostCard) {
  NvmlWorld world(divided_text());
  ASSERT_TRUE(world.source.inventory().has_value());
  world.script.say(card_text("GPU-a", 0) + "gap\n" + card_text("GPU-b", 1));
  const auto samples = world.source.sample();
  ASSERT_TRUE(samples.has_value());
  ASSERT_EQ(samples->size(), 1U);
  EXPECT_EQ((*samples)[0].id, "GPU-b");
  EXPECT_TRUE(world.source.faults().empty());
  EXPECT_TRUE(world.source.stale());
  EXPECT_EQ(world.source.inventory()->cards.size(), 1U);
}

TEST(Nvml, ADividedCardWithoutInstancesHasNothingToHandOut) {
  NvmlWorld world(card_text("GPU-a", 0) + "gap\n");
  EXPECT_TRUE(world.source.inventory()->cards.empty());
  EXPECT_TRUE(world.source.sample()->empty());
}

TEST(Nvml, ProfilesAreNamedAsNvidiaNamesThem) {
  struct Row {
    const char* name;
    Slices slices;
    std::uint64_t card_mib;
  };
  const Row rows[] = {
      {"1g.5gb", {1, 1, 4864}, 40960},      {"3g.20gb", {3, 3, 19968}, 40960},
      {"7g.40gb", {7, 7, 40192}, 40960},    {"1g.10gb", {1, 1, 9856}, 81559},
      {"1g.20gb", {1, 1, 19968}, 81559},    {"7g.80gb", {7, 7, 80896}, 81559},
      {"1g.18gb", {1, 1, 16384}, 143771},   {"2g.35gb", {2, 2, 33280}, 143771},
      {"1c.3g.20gb", {3, 1, 19968}, 40960}, {"1g.6gb", {1, 1, 5952}, 24258},
      {"1g.10gb", {1, 1, 9856}, 0},
  };
  for (const Row& row : rows) EXPECT_EQ(profile_name(row.slices, row.card_mib), row.name);
}

}  // namespace
}  // namespace stowage::gpu
