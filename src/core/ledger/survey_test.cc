#include "core/ledger/survey.h"

#include <gtest/gtest.h>

#include "core/ledger/ledger.h"
#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::node;
using testing::pod;

Assignment share(std::uint32_t card, std::int32_t milli, std::int32_t memory_mib) {
  return {.containers = {{{.card = card, .milli = milli, .memory_mib = memory_mib}}}};
}

const ModelSurvey& only(const Survey& survey) { return survey.models.at(0); }

TEST(Survey, CountsCardsByStateAndWhatFits) {
  Ledger ledger;
  const auto at = ledger.upsert_node(node("n").cards(4).model("T4").memory_mib(1000));
  ledger.reserve(pod("half").milli(500).memory_mib(400), at, share(1, 500, 400));
  ledger.reserve(pod("whole").gpus(1), at, share(2, 1000, 1000));
  const Survey survey = take_survey(ledger);
  ASSERT_EQ(survey.models.size(), 1U);
  const ModelSurvey& model = only(survey);
  EXPECT_EQ(model.model, "T4");
  EXPECT_EQ(model.cards, 4);
  EXPECT_EQ(model.free, 2);
  EXPECT_EQ(model.partly, 1);
  EXPECT_EQ(model.full, 1);
  EXPECT_EQ(model.unhealthy, 0);
  EXPECT_EQ(model.given_milli, 1500);
  EXPECT_EQ(model.memory_mib, 4000);
  EXPECT_EQ(model.given_memory_mib, 1400);
  EXPECT_EQ(model.stranded_milli, 0);
  // Quarters, halves, 1, 2, 4 and 8 cards.
  EXPECT_EQ(model.fits, (std::array<std::int64_t, 6>{10, 5, 2, 1, 0, 0}));
}

TEST(Survey, CountsStrandedCompute) {
  Ledger ledger;
  ledger.upsert_node(node("cordoned").cards(1).memory_mib(1000).cordoned());
  ledger.upsert_node(node("sick").cards(1).memory_mib(1000).unhealthy());
  const auto busy = ledger.upsert_node(node("no-cpu").cards(2).memory_mib(1000).cpu_milli(4000));
  ledger.reserve(pod("hog").cpu_milli(4000).milli(250).memory_mib(10), busy, share(0, 250, 10));
  const auto full = ledger.upsert_node(node("no-memory").cards(1).memory_mib(1000));
  ledger.reserve(pod("fat").milli(100).memory_mib(1000), full, share(0, 100, 1000));
  const ModelSurvey model = only(take_survey(ledger));
  EXPECT_EQ(model.unhealthy, 1);
  EXPECT_EQ(model.stranded_milli, 1000 + 750 + 1000 + 900);
  EXPECT_EQ(model.fits, (std::array<std::int64_t, 6>{}));
}

TEST(Survey, UnnamedCardsCountAsAllocated) {
  Ledger ledger;
  ledger.upsert_node(node("n").cards(4).memory_mib(1000));
  ledger.seen_bound(pod("theirs").gpus(3), "n", std::nullopt);
  const ModelSurvey model = only(take_survey(ledger));
  EXPECT_EQ(model.free, 1);
  EXPECT_EQ(model.full, 3);
  EXPECT_EQ(model.given_milli, 3000);
  EXPECT_EQ(model.given_memory_mib, 3000);
  EXPECT_EQ(model.fits[2], 1);
  EXPECT_EQ(model.fits[3], 0);
}

TEST(Survey, PartsOfUnnamedCardsCountAsParts) {
  Ledger ledger;
  ledger.upsert_node(node("n").cards(2).memory_mib(1000));
  ledger.seen_bound(pod("a").milli(250).memory_mib(100), "n", std::nullopt);
  ledger.seen_bound(pod("b").milli(250).memory_mib(100), "n", std::nullopt);
  const ModelSurvey model = only(take_survey(ledger));
  EXPECT_EQ(model.given_milli, 500);
  EXPECT_EQ(model.fits[1], 2) << "half of each card is left for sure";
  EXPECT_EQ(model.fits[2], 0) << "either may be theirs";
}

TEST(Survey, ACardWithoutAPlaceIsStranded) {
  Ledger ledger;
  const auto at = ledger.upsert_node(node("n").cards(1).memory_mib(1000).slots(1));
  ledger.reserve(pod("small").milli(100).memory_mib(100), at, share(0, 100, 100));
  const ModelSurvey model = only(take_survey(ledger));
  EXPECT_EQ(model.stranded_milli, 900);
  EXPECT_EQ(model.fits[0], 0);
}

TEST(Survey, KnowsCardsThatAreGivenOutAndDoNothing) {
  Ledger ledger;
  const auto at = ledger.upsert_node(node("n").cards(4).memory_mib(1000));
  ledger.reserve(pod("a").gpus(1), at, share(0, 1000, 1000));
  ledger.reserve(pod("b").gpus(1), at, share(1, 1000, 1000));
  ledger.reserve(pod("c").gpus(1), at, share(2, 1000, 1000));
  ledger.set_busy(at, {0, 800, kNoLoad, 0});
  const ModelSurvey model = only(take_survey(ledger));
  EXPECT_EQ(model.measured, 3);
  EXPECT_EQ(model.idle, 1);
}

TEST(Survey, NodesThatWentAreNotCounted) {
  Ledger ledger;
  ledger.upsert_node(node("n").cards(2));
  ledger.remove_node("n");
  EXPECT_TRUE(take_survey(ledger).models.empty());
}

}  // namespace
}  // namespace stowage::core
