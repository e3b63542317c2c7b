#include "gpu/health.h"

#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace stowage::gpu {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

base::Instant at(nanoseconds time) { return {time.count()}; }

Inventory there(const std::vector<std::string>& ids, std::uint64_t life = 1) {
  Inventory inventory{.driver_life = life};
  for (const std::string& id : ids) inventory.cards.push_back({.id = id});
  return inventory;
}

Fault xid(std::uint32_t number, const std::string& card = "a") {
  return {.kind = FaultKind::xid, .card = card, .xid = number};
}
Fault lost(const std::string& card = "a") { return {.kind = FaultKind::lost, .card = card}; }

std::vector<CardSample> answers(const std::string& card = "a") { return {{.id = card}}; }

class Health : public ::testing::Test {
 protected:
  Health() { keeper_.observe(there({"a", "b"}), at({})); }

  // True if the card is healthy at that time, if nothing happens until then.
  [[nodiscard]] bool well(nanoseconds time, const std::string& card = "a") {
    HealthTracker copy = keeper_;
    (void)copy.pass(at(time));
    return copy.healthy(card);
  }

  HealthTracker keeper_{HealthOptions{}};
};

TEST_F(Health, ErrorsOfApplicationsDoNotMatter) {
  for (const std::uint32_t number : {13U, 31U, 43U, 45U, 68U, 109U}) {
    keeper_.observe(xid(number), at(seconds{1}));
  }
  EXPECT_TRUE(well(seconds{1}));
}

TEST_F(Health, OthersMakeACardUnhealthyForAWhile) {
  keeper_.observe(xid(74), at(seconds{1}));
  const CardHealth health = keeper_.of("a");
  EXPECT_FALSE(health.healthy);
  EXPECT_FALSE(health.needs_reset);
  EXPECT_EQ(health.reason, "XID 74: NVLink error");
  EXPECT_EQ(health.until, at(seconds{1} + minutes{5}));
  EXPECT_FALSE(well(minutes{5}));
  EXPECT_TRUE(well(minutes{5} + seconds{1}));
  EXPECT_TRUE(well(seconds{1}, "b")) << "the other card";
}

TEST_F(Health, EachFaultRestartsTheQuietTime) {
  for (int minute = 0; minute < 60; ++minute) keeper_.observe(xid(74), at(minutes{minute}));
  EXPECT_FALSE(well(minutes{63}));
  EXPECT_TRUE(well(minutes{64})) << "one sickness, however many faults";
}

TEST_F(Health, TheQuietTimeDoublesWithEachRelapseUpToAnHourAndIsForgottenAfterADay) {
  auto time = nanoseconds{};
  for (const int quiet : {5, 10, 20, 40, 60, 60}) {
    keeper_.observe(xid(74), at(time));
    EXPECT_FALSE(well(time + minutes{quiet} - seconds{1})) << quiet;
    time += minutes{quiet};
    EXPECT_TRUE(well(time)) << quiet;
    time += minutes{1};
  }
  time += hours{24};
  keeper_.observe(xid(74), at(time));
  EXPECT_TRUE(well(time + minutes{5}));
}

TEST_F(Health, ABrokenCardWaitsForAReset) {
  for (const std::uint32_t number : {48U, 64U, 79U, 94U, 95U, 119U, 120U, 140U}) {
    HealthTracker keeper{HealthOptions{}};
    keeper.observe(there({"a"}), at({}));
    keeper.observe(xid(number), at(seconds{1}));
    keeper.observe(answers(), at(hours{20}));
    keeper.observe(there({"a"}), at(hours{20}));
    (void)keeper.pass(at(hours{100}));
    EXPECT_FALSE(keeper.healthy("a")) << number;
    EXPECT_TRUE(keeper.of("a").needs_reset);
    EXPECT_FALSE(keeper.of("a").until.has_value());
  }
}

TEST_F(Health, ACardThatWasGoneAndIsBackWasReset) {
  keeper_.observe(xid(79), at(seconds{1}));
  keeper_.observe(there({"b"}), at(seconds{2}));
  EXPECT_EQ(keeper_.of("a").reason, "the card is missing");
  keeper_.observe(there({"a", "b"}), at(seconds{3}));
  EXPECT_TRUE(keeper_.healthy("a"));
}

TEST_F(Health, RecreatedInstancesAreOfTheSameCard) {
  const auto instances = [](const std::vector<std::string>& ids, std::uint64_t life = 1) {
    Inventory inventory = there(ids, life);
    for (CardInfo& card : inventory.cards) card.mig = Mig{.parent = card.id.substr(0, 1)};
    return inventory;
  };
  HealthTracker keeper{HealthOptions{}};
  keeper.observe(instances({"x1", "x2", "y1"}), at({}));
  keeper.observe(xid(95, "x1"), at(seconds{1}));
  EXPECT_TRUE(keeper.healthy("x2")) << "told for the first alone";
  keeper.observe(instances({"y1"}), at(seconds{2}));
  keeper.observe(instances({"x1", "x3", "y1", "y2"}), at(seconds{3}));
  EXPECT_FALSE(keeper.healthy("x1")) << "to divide a card anew is no reset";
  EXPECT_FALSE(keeper.healthy("x3"));
  EXPECT_EQ(keeper.of("x3").reason, "XID 95: uncontained memory error");
  EXPECT_TRUE(keeper.healthy("y1") && keeper.healthy("y2"));
  keeper.observe(instances({"y1"}, 2), at(seconds{4}));
  keeper.observe(instances({"x1", "x4", "y1"}, 2), at(seconds{5}));
  EXPECT_TRUE(keeper.healthy("x1") && keeper.healthy("x4")) << "reset while they were away";
}

TEST_F(Health, ADriverThatWasAwayHasResetAll) {
  keeper_.observe(xid(79), at(seconds{1}));
  keeper_.observe(there({"a", "b"}, 1), at(seconds{2}));
  EXPECT_FALSE(keeper_.healthy("a"));
  keeper_.observe(there({"a", "b"}, 2), at(seconds{3}));
  EXPECT_TRUE(keeper_.healthy("a"));
}

TEST_F(Health, TheDriverSaysItself) {
  keeper_.observe({{.id = "a", .needs_reset = true}}, at(seconds{1}));
  EXPECT_EQ(keeper_.of("a").reason, "the driver asks for a reset");
  EXPECT_FALSE(well(hours{100}));
  keeper_.observe(answers(), at(seconds{2}));
  EXPECT_FALSE(keeper_.healthy("a")) << "what is not told is as it was";
  keeper_.observe({{.id = "a", .needs_reset = false}}, at(seconds{3}));
  EXPECT_TRUE(keeper_.healthy("a"));
}

TEST_F(Health, AResetThatTheDriverAskedForMendsWhatItAskedItFor) {
  keeper_.observe(xid(95), at(seconds{1}));
  keeper_.observe({{.id = "a", .needs_reset = true}}, at(seconds{2}));
  EXPECT_EQ(keeper_.of("a").reason, "XID 95: uncontained memory error");
  keeper_.observe({{.id = "a", .needs_reset = false}}, at(seconds{3}));
  EXPECT_TRUE(keeper_.healthy("a"));
}

TEST_F(Health, BadMemoryStaysBad) {
  keeper_.observe({{.id = "a", .row_remap_failed = true}}, at(seconds{1}));
  EXPECT_FALSE(well(hours{100}));
  keeper_.observe(there({"a", "b"}, 2), at(seconds{2}));
  keeper_.observe({{.id = "a", .row_remap_failed = true}}, at(seconds{3}));
  EXPECT_FALSE(keeper_.healthy("a")) << "a reset does not help";
  EXPECT_EQ(keeper_.of("a").reason, "memory rows could not be remapped");
}

TEST_F(Health, ALostCardIsBackWhenItAnswers) {
  keeper_.observe(lost(), at(seconds{1}));
  EXPECT_FALSE(well(hours{100}));
  EXPECT_FALSE(keeper_.of("a").needs_reset);
  keeper_.observe(answers("b"), at(seconds{2}));
  EXPECT_FALSE(keeper_.healthy("a"));
  keeper_.observe(answers(), at(seconds{3}));
  EXPECT_TRUE(keeper_.healthy("a"));
  keeper_.observe(lost(), at(seconds{4}));
  keeper_.observe(answers(), at(seconds{5}));
  EXPECT_FALSE(keeper_.healthy("a")) << "the second time it has to show that it stays";
  EXPECT_TRUE(well(seconds{5} + minutes{5}));
}

TEST_F(Health, ASilentCardInTheInventoryIsLost) {
  Inventory inventory = there({"a", "b"});
  inventory.cards[0].answers = false;
  keeper_.observe(inventory, at(seconds{1}));
  EXPECT_EQ(keeper_.of("a").reason, "the card does not answer");
  keeper_.observe(answers(), at(seconds{2}));
  EXPECT_TRUE(keeper_.healthy("a"));
}

TEST_F(Health, ALostCardThatIsBrokenAsWellWaitsForBoth) {
  keeper_.observe(lost(), at(seconds{1}));
  keeper_.observe(xid(79), at(seconds{1}));
  keeper_.observe(answers(), at(seconds{2}));
  EXPECT_FALSE(keeper_.healthy("a"));
  EXPECT_EQ(keeper_.of("a").reason, "XID 79: the card has fallen off the bus");
  EXPECT_TRUE(keeper_.of("a").needs_reset);
}

TEST_F(Health, UncorrectedErrorsThatComeAreAFault) {
  const auto count = [&](std::uint64_t errors, nanoseconds time) {
    keeper_.observe({{.id = "a", .ecc_uncorrected = errors}}, at(time));
  };
  count(7, seconds{1});
  EXPECT_TRUE(keeper_.healthy("a")) << "nobody knows when those were";
  count(7, seconds{2});
  EXPECT_TRUE(keeper_.healthy("a"));
  count(9, seconds{3});
  EXPECT_EQ(keeper_.of("a").reason, "uncorrected memory errors: 2 more");
  EXPECT_TRUE(well(seconds{3} + minutes{5}));
  count(0, minutes{10});
  EXPECT_TRUE(keeper_.healthy("a")) << "it counts from 0 again";
  count(1, minutes{11});
  EXPECT_FALSE(keeper_.healthy("a"));
}

TEST_F(Health, TheOwnerOfTheClusterMayKnowBetter) {
  HealthTracker keeper(
      {.quiet = seconds{10}, .xids = {{79, XidEffect::none}, {13, XidEffect::needs_reset}}});
  keeper.observe(xid(79), at(seconds{1}));
  EXPECT_TRUE(keeper.healthy("a"));
  keeper.observe(xid(13), at(seconds{1}));
  EXPECT_TRUE(keeper.of("a").needs_reset);
  keeper.observe(xid(74, "b"), at(seconds{1}));
  EXPECT_EQ(keeper.of("b").until, at(seconds{11}));
}

TEST_F(Health, ChangesAreToldOnce) {
  EXPECT_TRUE(keeper_.pass(at(seconds{1})).empty());
  keeper_.observe(xid(74), at(seconds{2}));
  const auto unhealthy = keeper_.pass(at(seconds{3}));
  ASSERT_EQ(unhealthy.size(), 1U);
  EXPECT_EQ(unhealthy[0].card, "a");
  EXPECT_FALSE(unhealthy[0].health.healthy);
  EXPECT_EQ(unhealthy[0].health.since, at(seconds{2}));
  EXPECT_TRUE(keeper_.pass(at(seconds{4})).empty());
  const auto well_again = keeper_.pass(at(hours{1}));
  ASSERT_EQ(well_again.size(), 1U);
  EXPECT_TRUE(well_again[0].health.healthy);
  EXPECT_EQ(well_again[0].health.since, at(seconds{2} + minutes{5}));
}

TEST_F(Health, MemoryIsBounded) {
  for (int i = 0; i < 1200; ++i) {
    keeper_.observe(there({fmt::format("card-{}", i)}), at(seconds{i}));
    keeper_.observe(xid(74, fmt::format("other-{}", i)), at(seconds{i}));
  }
  EXPECT_LE(keeper_.size(), 1024U);
  keeper_.observe(there({"a"}), at(hours{2}));
  keeper_.observe(there({"a"}), at(hours{26}));
  EXPECT_EQ(keeper_.size(), 1U) << "what is gone for a day is forgotten";
  EXPECT_TRUE(keeper_.healthy("a"));
}

TEST_F(Health, TimeDoesNotRunBackwards) {
  keeper_.observe(xid(74), at(hours{1}));
  (void)keeper_.pass(at({}));
  EXPECT_FALSE(keeper_.healthy("a"));
  EXPECT_EQ(keeper_.of("a").until, at(hours{1} + minutes{5}));
}

// ---- properties

// An event of the cards "a" and "b".
struct Step {
  std::int32_t kind = 0;
  std::string card;
  std::uint32_t number = 0;
  std::int64_t after = 0;  // nanoseconds after the step before it
};

[[maybe_unused]] void showValue(const Step& step, std::ostream& out) {
  out << fmt::format("{{{} {} {} +{}s}}", step.kind, step.card, step.number,
                     step.after / 1'000'000'000);
}

constexpr int kHarmless = 0;
constexpr int kRest = 1;
constexpr int kBreak = 2;
constexpr int kLost = 3;
constexpr int kAnswers = 4;
constexpr int kEcc = 5;
constexpr int kInventory = 6;
constexpr int kOnlyB = 7;
constexpr int kReloaded = 8;

rc::Gen<Step> step_of(const std::vector<int>& kinds) {
  return rc::gen::construct<Step>(rc::gen::elementOf(kinds),
                                  rc::gen::element<std::string>("a", "b"),
                                  rc::gen::inRange<std::uint32_t>(0, 5),
                                  rc::gen::map(rc::gen::inRange<std::int64_t>(0, 4000),
                                               [](std::int64_t s) { return s * 1'000'000'000; }));
}
rc::Gen<std::vector<Step>> steps_of(const std::vector<int>& kinds) {
  return rc::gen::container<std::vector<Step>>(step_of(kinds));
}

void take(HealthTracker& keeper, const Step& step, base::Instant now) {
  switch (step.kind) {
    case kHarmless: return keeper.observe(xid(31, step.card), now);
    case kRest: return keeper.observe(xid(74, step.card), now);
    case kBreak: return keeper.observe(xid(79, step.card), now);
    case kLost: return keeper.observe(lost(step.card), now);
    case kAnswers: return keeper.observe(answers(step.card), now);
    case kEcc: return keeper.observe({{.id = step.card, .ecc_uncorrected = step.number}}, now);
    case kInventory: return keeper.observe(there({"a", "b"}), now);
    case kOnlyB: return keeper.observe(there({"b"}), now);
    default: return keeper.observe(there({"a", "b"}, 1 + step.number), now);  // kReloaded
  }
}

const std::vector<int> kAll = {kHarmless, kRest,      kBreak, kLost,    kAnswers,
                               kEcc,      kInventory, kOnlyB, kReloaded};

RC_GTEST_PROP(HealthProperties, HowOftenTimeIsToldDoesNotMatter, ()) {
  HealthTracker rarely{HealthOptions{}};
  HealthTracker often{HealthOptions{}};
  base::Instant now{};
  for (const Step& step : *steps_of(kAll)) {
    for (int i = 0; i < 3; ++i) (void)often.pass({now.ns + step.after * i / 3});
    now.ns += step.after;
    take(rarely, step, now);
    take(often, step, now);
  }
  (void)rarely.pass(now);
  (void)often.pass(now);
  for (const char* card : {"a", "b"}) RC_ASSERT(rarely.of(card) == often.of(card));
}

RC_GTEST_PROP(HealthProperties, UnmentionedCardsAreHealthy, ()) {
  HealthTracker keeper{HealthOptions{}};
  base::Instant now{};
  for (const Step& step : *steps_of({kHarmless, kAnswers, kInventory})) {
    take(keeper, step, {now.ns += step.after});
    RC_ASSERT(keeper.healthy("a") && keeper.healthy("b"));
    RC_ASSERT(keeper.pass(now).empty());
  }
}

RC_GTEST_PROP(HealthProperties, WhatHappensToOneCardIsNothingToTheOther, ()) {
  HealthTracker both{HealthOptions{}};
  HealthTracker alone{HealthOptions{}};
  base::Instant now{};
  for (const Step& step : *steps_of({kRest, kBreak, kLost, kAnswers, kEcc})) {
    now.ns += step.after;
    take(both, step, now);
    if (step.card == "a") take(alone, step, now);
  }
  (void)both.pass(now);
  (void)alone.pass(now);
  RC_ASSERT(both.of("a") == alone.of("a"));
}

RC_GTEST_PROP(HealthProperties, WithoutAResetABrokenCardStaysBroken, ()) {
  HealthTracker keeper{HealthOptions{}};
  keeper.observe(there({"a", "b"}), {});
  keeper.observe(xid(79), {});
  base::Instant now{};
  for (const Step& step :
       *steps_of({kHarmless, kRest, kBreak, kLost, kAnswers, kEcc, kInventory})) {
    take(keeper, step, {now.ns += step.after});
    RC_ASSERT(!keeper.healthy("a") && keeper.of("a").needs_reset);
  }
}

RC_GTEST_PROP(HealthProperties, AnHourOfQuietMendsWhatNeedsNoReset, ()) {
  HealthTracker keeper{HealthOptions{}};
  base::Instant now{};
  for (const Step& step : *steps_of({kHarmless, kRest, kLost, kAnswers, kEcc, kInventory})) {
    take(keeper, step, {now.ns += step.after});
  }
  for (const char* card : {"a", "b"}) keeper.observe(answers(card), now);
  (void)keeper.pass({now.ns + nanoseconds{hours{1}}.count()});
  RC_ASSERT(keeper.healthy("a") && keeper.healthy("b"));
}

// Against a model whose only state is the times of the faults.
RC_GTEST_PROP(HealthProperties, TheQuietTimeIsThatOfTheModel, ()) {
  HealthTracker keeper{HealthOptions{}};
  std::int64_t now = 0;
  std::int64_t well_at = 0;
  std::int64_t pause = 0;
  bool ever = false;
  const std::int64_t minute = nanoseconds{minutes{1}}.count();
  for (const Step& step : *steps_of({kRest})) {
    // Sometimes more than a day.
    now += step.number == 0 ? step.after * 30 : step.after;
    RC_ASSERT(keeper.pass({now}).size() <= 1U);
    RC_ASSERT(keeper.healthy("a") == (!ever || now >= well_at));
    if (!ever || now >= well_at) {
      const bool forgotten = !ever || now - well_at >= nanoseconds{hours{24}}.count();
      pause = forgotten ? 5 * minute : std::min(2 * pause, 60 * minute);
    }
    ever = true;
    well_at = now + pause;
    keeper.observe(xid(74), {now});
    RC_ASSERT(keeper.of("a").until == base::Instant{well_at});
  }
}

}  // namespace
}  // namespace stowage::gpu
