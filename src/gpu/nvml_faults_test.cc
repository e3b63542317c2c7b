// NvmlSource when cards are lost, the driver is unloaded, and errors are reported.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/nvml.h"
#include "gpu/testing/nvml_world.h"

namespace stowage::gpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::card_text;
using testing::NvmlWorld;

std::string two_cards() { return card_text("GPU-a", 0) + card_text("GPU-b", 1); }

std::string ids_of(const std::vector<CardSample>& samples) {
  std::string ids;
  for (const CardSample& sample : samples) ids += sample.id + " ";
  return ids;
}

std::string words_of(const std::vector<Fault>& faults) {
  std::string words;
  for (const Fault& fault : faults) {
    words += std::string(to_string(fault.kind)) + " " + fault.card;
    if (fault.xid != 0) words += " " + std::to_string(fault.xid);
    words += "; ";
  }
  return words;
}

// ---- one card

TEST(NvmlFaults, ACardThatIsLostIsToldOnceAndStaysKnown) {
  NvmlWorld world(two_cards());
  ASSERT_TRUE(world.source.inventory().has_value());
  world.script.say(card_text("GPU-a", 0) + "fail hardware 15\n" + card_text("GPU-b", 1));
  EXPECT_EQ(ids_of(world.source.sample().value()), "GPU-b ");
  EXPECT_TRUE(world.source.stale());
  const auto faults = world.source.faults();
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(
      faults[0],
      (Fault{.kind = FaultKind::lost, .card = "GPU-a", .text = "GPU is lost (NVML error 15)"}));
  for (int i = 0; i < 3; ++i) {
    const auto inventory = world.source.inventory();
    ASSERT_TRUE(inventory.has_value());
    ASSERT_EQ(inventory->cards.size(), 2U);
    EXPECT_FALSE(inventory->cards[0].answers);
    EXPECT_EQ(inventory->cards[0].model, "NVIDIA H100 80GB HBM3");
    EXPECT_TRUE(inventory->cards[1].answers);
    EXPECT_EQ(ids_of(world.source.sample().value()), "GPU-b ");
    EXPECT_EQ(words_of(world.source.faults()), "");
    EXPECT_FALSE(world.source.stale());
    EXPECT_EQ(world.source.trouble(), "cards that do not answer: 1; GPU is lost (NVML error 15)");
    world.wait(seconds{1});
  }
}

TEST(NvmlFaults, ACardThatDoesNotEvenSayItsNameIsTheOneThatIsMissing) {
  NvmlWorld world(two_cards());
  ASSERT_TRUE(world.source.inventory().has_value());
  world.script.say("card GPU-a\nfail all 15\n" + card_text("GPU-b", 1));
  const auto inventory = world.source.inventory();
  ASSERT_TRUE(inventory.has_value());
  ASSERT_EQ(inventory->cards.size(), 2U);
  EXPECT_EQ(inventory->cards[0].id, "GPU-a");
  EXPECT_FALSE(inventory->cards[0].answers);
  EXPECT_EQ(inventory->cards[0].memory_mib, 81559);
  EXPECT_EQ(words_of(world.source.faults()), "lost GPU-a; ");
}

TEST(NvmlFaults, AnUnknownSilentCardHasNoName) {
  NvmlWorld world("card GPU-a\nfail all 15\n" + card_text("GPU-b", 1));
  const auto inventory = world.source.inventory();
  ASSERT_TRUE(inventory.has_value());
  ASSERT_EQ(inventory->cards.size(), 1U);
  EXPECT_EQ(inventory->cards[0].id, "GPU-b");
  EXPECT_NE(world.source.trouble(), "");
}

TEST(NvmlFaults, AnUnknownLostCardThatReportsItsNameIsListed) {
  NvmlWorld world(card_text("GPU-a", 0) + "fail hardware 15\n");
  const auto inventory = world.source.inventory();
  ASSERT_EQ(inventory->cards.size(), 1U);
  EXPECT_EQ(inventory->cards[0].id, "GPU-a");
  EXPECT_FALSE(inventory->cards[0].answers);
  EXPECT_EQ(words_of(world.source.faults()), "lost GPU-a; ");
}

TEST(NvmlFaults, ACardThatIsNotCountedAnyMoreIsGone) {
  NvmlWorld world(two_cards());
  ASSERT_TRUE(world.source.inventory().has_value());
  world.script.say(card_text("GPU-b", 1));
  const auto inventory = world.source.inventory();
  ASSERT_TRUE(inventory.has_value());
  ASSERT_EQ(inventory->cards.size(), 1U);
  EXPECT_EQ(inventory->cards[0].id, "GPU-b");
  EXPECT_EQ(inventory->cards[0].index, 0) << "the driver counts anew";
  EXPECT_EQ(words_of(world.source.faults()), "");
}

TEST(NvmlFaults, NoSensibleAnswerAtAllIsALossToo) {
  NvmlWorld world(two_cards());
  ASSERT_TRUE(world.source.inventory().has_value());
  world.script.say(card_text("GPU-a", 0) + "fail all 999\n" + card_text("GPU-b", 1));
  EXPECT_EQ(ids_of(world.source.sample().value()), "GPU-b ");
  EXPECT_EQ(words_of(world.source.faults()), "lost GPU-a; ");
}

TEST(NvmlFaults, LostCardsAreLookedForInNewSessionsEverMoreRarely) {
  NvmlWorld world(two_cards());
  ASSERT_TRUE(world.source.inventory().has_value());
  world.script.say(card_text("GPU-a", 0) + "fail hardware 15\n" + card_text("GPU-b", 1));
  ASSERT_TRUE(world.source.inventory().has_value());
  (void)world.source.faults();
  for (int i = 0; i < 20; ++i) {
    world.wait(minutes{1});
    ASSERT_TRUE(world.source.inventory().has_value());
    EXPECT_EQ(words_of(world.source.faults()), "") << "told already";
  }
  world.script.say(two_cards());
  world.wait(minutes{5});
  const auto inventory = world.source.inventory();
  EXPECT_TRUE(inventory->cards[0].answers);
  EXPECT_EQ(inventory->driver_life, 1U) << "the driver was there all the time";
  EXPECT_EQ(ids_of(world.source.sample().value()), "GPU-a GPU-b ");
  EXPECT_EQ(world.source.trouble(), "");
}

TEST(NvmlFaults, TheDriverMaySayThatACardNeedsAReset) {
  NvmlWorld world(card_text("GPU-a", 0) + "recovery 1\n");
  EXPECT_EQ(world.source.sample()->at(0).needs_reset, true);
  world.script.say(card_text("GPU-a", 0) + "recovery 3\n");
  EXPECT_EQ(world.source.sample()->at(0).needs_reset, false) << "programs have to end, no more";
  world.script.say(card_text("GPU-a", 0) + "fail power 16\n");
  EXPECT_EQ(world.source.sample()->at(0).needs_reset, true);
  world.script.say(card_text("GPU-a", 0) + "rows 1\n");
  EXPECT_EQ(world.source.sample()->at(0).row_remap_failed, true);
}

// ---- the driver

TEST(NvmlFaults, ThereIsNoDriver) {
  NvmlWorld world("fail init 9\n" + two_cards());
  const auto first = world.source.inventory();
  ASSERT_FALSE(first.has_value());
  EXPECT_EQ(first.error().message, "NVML does not start: Some Error (NVML error 9)");
  EXPECT_FALSE(world.source.sample().has_value());
  EXPECT_TRUE(world.source.faults().empty());
  // The driver is back, but is asked only after the pause.
  world.script.say(two_cards());
  world.wait(milliseconds{500});
  EXPECT_EQ(world.source.inventory().error().message,
            "NVML does not start: Some Error (NVML error 9); tried again in 0.5 s");
  world.wait(milliseconds{500});
  const auto second = world.source.inventory();
  ASSERT_TRUE(second.has_value()) << second.error().message;
  EXPECT_EQ(second->cards.size(), 2U);
}

TEST(NvmlFaults, ThePauseDoublesUpToItsLimit) {
  NvmlWorld world("fail init 9\n");
  std::string pauses;
  for (int i = 0; i < 9; ++i) {
    ASSERT_FALSE(world.source.inventory().has_value());
    const std::string said = world.source.inventory().error().message;
    const std::string pause = said.substr(said.find(" in ") + 4);
    pauses += pause + ", ";
    world.wait(milliseconds{static_cast<int>(std::stod(pause) * 1000)});
  }
  EXPECT_EQ(pauses, "1.0 s, 2.0 s, 4.0 s, 8.0 s, 16.0 s, 32.0 s, 60.0 s, 60.0 s, 60.0 s, ");
}

TEST(NvmlFaults, ThereIsNoLibrary) {
  NvmlWorld world("", "libno-such-nvml.so.1");
  EXPECT_FALSE(world.source.inventory().has_value());
  EXPECT_NE(world.source.trouble().find("libno-such-nvml.so.1"), std::string::npos);
  EXPECT_TRUE(world.source.faults().empty());
}

TEST(NvmlFaults, TheDriverIsExchangedUnderUs) {
  NvmlWorld world(two_cards());
  ASSERT_TRUE(world.source.sample().has_value());
  world.script.say("fail init 9\nfail all 9\n" + two_cards());
  EXPECT_FALSE(world.source.sample().has_value());
  EXPECT_EQ(words_of(world.source.faults()), "lost GPU-a; lost GPU-b; ");
  EXPECT_EQ(world.source.trouble(), "the driver does not answer: Some Error (NVML error 9)");
  for (int i = 0; i < 5; ++i) {
    world.wait(minutes{1});
    EXPECT_FALSE(world.source.sample().has_value());
    EXPECT_EQ(words_of(world.source.faults()), "") << "told already";
  }
  world.script.say("driver 570.1\n" + card_text("GPU-b", 0) + card_text("GPU-c", 1));
  world.wait(minutes{1});
  EXPECT_EQ(ids_of(world.source.sample().value()), "GPU-b GPU-c ");
  const auto inventory = world.source.inventory();
  EXPECT_EQ(inventory->driver_version, "570.1");
  EXPECT_EQ(inventory->driver_life, 2U);
}

TEST(NvmlFaults, ALibraryThatForgotItsSessionIsReopenedWithoutAReset) {
  NvmlWorld world(two_cards());
  ASSERT_TRUE(world.source.sample().has_value());
  world.script.say("fail all 1\n" + two_cards());
  EXPECT_FALSE(world.source.sample().has_value());
  EXPECT_EQ(words_of(world.source.faults()), "lost GPU-a; lost GPU-b; ");
  world.script.say(two_cards());
  world.wait(seconds{1});
  EXPECT_EQ(ids_of(world.source.sample().value()), "GPU-a GPU-b ");
  EXPECT_EQ(world.source.inventory()->driver_life, 1U);
}

TEST(NvmlFaults, ADriverThatComesAndGoesIsNotAskedAllTheTime) {
  NvmlWorld world("fail all 1\n" + two_cards());
  int opened = 0;
  for (int i = 0; i < 600; ++i) {
    const auto said = world.source.sample();
    ASSERT_FALSE(said.has_value());
    if (said.error().message.find("tried again") == std::string::npos) ++opened;
    world.wait(seconds{1});
  }
  EXPECT_LE(opened, 16) << "ten minutes, with pauses up to one";
}

// ---- events

TEST(NvmlFaults, ErrorsAreToldWithTheirNumbers) {
  NvmlWorld world(two_cards() + "event 0 8 13\n");
  ASSERT_TRUE(world.source.inventory().has_value());
  EXPECT_EQ(words_of(world.source.faults()), "") << "that was before we came";
  world.script.say(two_cards() + "event 0 8 13\nevent 1 8 79\nevent 0 8 31\nevent 0 4 1\n");
  EXPECT_EQ(words_of(world.source.faults()), "xid GPU-b 79; xid GPU-a 31; ");
  EXPECT_EQ(words_of(world.source.faults()), "");
}

TEST(NvmlFaults, AnErrorInsideOfAnInstanceLeavesTheOthersAlone) {
  const std::string text = card_text("GPU-a", 0) + "mig MIG-1 7 0\nmig MIG-2 9 0\nmig MIG-3 9 1\n";
  NvmlWorld world(text);
  ASSERT_TRUE(world.source.inventory().has_value());
  world.script.say(text + "event 0 8 31 9 1\n");
  EXPECT_EQ(words_of(world.source.faults()), "xid MIG-3 31; ");
  world.script.say(text + "event 0 8 31 9 1\nevent 0 8 48\n");
  EXPECT_EQ(words_of(world.source.faults()), "xid MIG-1 48; xid MIG-2 48; xid MIG-3 48; ");
  world.script.say(text + "event 0 8 31 9 1\nevent 0 8 48\nevent 0 8 62 9 4294967295\n");
  EXPECT_EQ(words_of(world.source.faults()), "xid MIG-2 62; xid MIG-3 62; ");
}

TEST(NvmlFaults, WhatHappenedToACardBeforeItWasLostIsToldAfterwards) {
  NvmlWorld world(two_cards());
  ASSERT_TRUE(world.source.inventory().has_value());
  world.script.say(card_text("GPU-a", 0) + "fail hardware 15\n" + card_text("GPU-b", 1) +
                   "event 0 8 79\n");
  EXPECT_EQ(ids_of(world.source.sample().value()), "GPU-b ");
  EXPECT_EQ(words_of(world.source.faults()), "lost GPU-a; xid GPU-a 79; ");
}

TEST(NvmlFaults, AChangeOfTheInstancesMakesTheInventoryStale) {
  const std::string text = card_text("GPU-a", 0) + "mig MIG-1 7 0\n";
  NvmlWorld world(text);
  ASSERT_TRUE(world.source.inventory().has_value());
  EXPECT_FALSE(world.source.stale());
  world.script.say(text + "event 0 100 0\n");
  EXPECT_EQ(words_of(world.source.faults()), "");
  EXPECT_TRUE(world.source.stale());
}

TEST(NvmlFaults, CardsThatReportNoErrorsAreFine) {
  NvmlWorld world("card GPU-a\nmemory 100 0 0\ncard GPU-b\nevents 1\nmemory 100 0 0\n");
  ASSERT_TRUE(world.source.inventory().has_value());
  EXPECT_EQ(words_of(world.source.faults()), "");
  EXPECT_EQ(ids_of(world.source.sample().value()), "GPU-a GPU-b ");
}

TEST(NvmlFaults, ABrokenSetOfEventsIsMadeAgain) {
  NvmlWorld world(two_cards());
  ASSERT_TRUE(world.source.inventory().has_value());
  world.script.say("fail wait 15\n" + two_cards());
  EXPECT_EQ(words_of(world.source.faults()), "");
  EXPECT_TRUE(world.source.stale());
  world.script.say(two_cards());
  world.wait(seconds{1});
  ASSERT_TRUE(world.source.inventory().has_value());
  world.script.say(two_cards() + "event 1 8 79\n");
  EXPECT_EQ(words_of(world.source.faults()), "xid GPU-b 79; ");
}

TEST(NvmlFaults, NoEndOfErrorsIsTakenInPieces) {
  NvmlWorld world(two_cards());
  ASSERT_TRUE(world.source.inventory().has_value());
  std::string text = two_cards();
  for (int i = 0; i < 300; ++i) text += "event 0 8 31\n";
  world.script.say(text);
  EXPECT_EQ(world.source.faults().size(), 256U);
  EXPECT_EQ(world.source.faults().size(), 44U);
}

}  // namespace
}  // namespace stowage::gpu
