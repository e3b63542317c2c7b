#include "core/engine/nominations.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::node;
using testing::pod;

class NominationsTest : public ::testing::Test {
 protected:
  NominationsTest() : at_(ledger_.upsert_node(node("a").cards(4))) {}

  static Assignment cards(std::uint32_t first, std::uint32_t count) {
    Assignment all;
    all.containers.resize(1);
    for (std::uint32_t i = first; i < first + count; ++i) {
      all.containers[0].push_back({.card = i, .milli = kMilliPerCard});
    }
    return all;
  }
  static Nomination wants_two(const std::string& uid) {
    PodSpec spec = pod(uid).gpus(2);
    return {.pod = spec, .node = "a", .target = cards(0, 2), .until = {100}};
  }
  // Wholly free cards of the node.
  [[nodiscard]] std::uint64_t free() const { return ledger_.nodes().state(at_).whole; }

  Ledger ledger_;
  NodeIndex at_;
  QuotaTracker quotas_;
  Nominations nominations_{ledger_, quotas_};
  Commands out_;
};

TEST_F(NominationsTest, KeepsWhatIsFreeOfTheTargetAndMoreOnceThereIsMore) {
  const PodSpec in_the_way = pod("ns/x").gpus(1);
  const PodIndex other = ledger_.reserve(in_the_way, at_, cards(1, 1));
  nominations_.open(wants_two("ns/p"), out_);
  EXPECT_EQ(free(), 0b1100U);
  ASSERT_EQ(out_.size(), 1U);
  const auto& told = std::get<Nominate>(out_[0]);
  EXPECT_EQ(told.cards, 1);
  EXPECT_EQ(told.wanted, 2);
  ledger_.release(other);
  EXPECT_EQ(nominations_.lift("ns/p"), at_);
  EXPECT_EQ(free(), 0b1111U);
  EXPECT_EQ(nominations_.keep("ns/p").cards, 2);
  EXPECT_EQ(free(), 0b1100U);
  EXPECT_EQ(nominations_.keep("ns/p").cards, 0);  // already kept
  EXPECT_TRUE(ledger_.audit().empty());
}

TEST_F(NominationsTest, EndsWithACommandUnlessTheApiMadeIt) {
  nominations_.open(wants_two("ns/p"), out_);
  Nomination from_api = wants_two("ns/q");
  from_api.target = cards(2, 2);
  from_api.from_api = true;
  nominations_.open(from_api, out_);
  EXPECT_EQ(out_.size(), 1U);
  EXPECT_EQ(free(), 0U);
  EXPECT_EQ(nominations_.close("ns/p", out_), at_);
  ASSERT_EQ(out_.size(), 2U);
  EXPECT_EQ(std::get<Nominate>(out_[1]).node, "");
  EXPECT_EQ(nominations_.close("ns/q", out_), at_);
  EXPECT_FALSE(nominations_.close("ns/q", out_).valid());
  EXPECT_EQ(out_.size(), 2U);
  EXPECT_EQ(free(), 0b1111U);
  EXPECT_TRUE(nominations_.empty());
  EXPECT_EQ(nominations_.opened(), 2U);
}

TEST_F(NominationsTest, AreFoundByWhatTheyAreAskedFor) {
  Nomination preempts = wants_two("ns/p");
  preempts.preempts = true;
  preempts.victims = {"ns/x"};
  preempts.pod.priority = 5;
  preempts.until = {50};
  nominations_.open(preempts, out_);
  nominations_.open(wants_two("ns/q"), out_);
  using Uids = std::vector<std::string>;
  EXPECT_EQ(nominations_.on_node("a"), (Uids{"ns/p", "ns/q"}));
  EXPECT_EQ(nominations_.on_node("b"), Uids{});
  EXPECT_EQ(nominations_.expired({50}), Uids{"ns/p"});
  EXPECT_EQ(nominations_.waiting_for("ns/x"), Uids{"ns/p"});
  EXPECT_EQ(nominations_.for_starving(), 1U);
  EXPECT_FALSE(nominations_.any_below(0));
  EXPECT_TRUE(nominations_.any_below(1));
  EXPECT_FALSE(nominations_.victims_pending(preempts));
  const PodRecord& record = ledger_.pods().record(nominations_.kept_for("ns/p"));
  EXPECT_EQ(nominations_.of_record(record), nominations_.find("ns/p"));
  const PodSpec victim = pod("ns/x");
  const PodIndex placed = ledger_.reserve(victim, at_, {.containers = {{}}});
  EXPECT_TRUE(nominations_.victims_pending(preempts));
  EXPECT_EQ(nominations_.of_record(ledger_.pods().record(placed)), nullptr);
}

TEST_F(NominationsTest, OfARemovedNodeKeepsNothing) {
  ledger_.remove_node("a");
  nominations_.open(wants_two("ns/p"), out_);
  EXPECT_FALSE(nominations_.kept_for("ns/p").valid());
  EXPECT_FALSE(nominations_.lift("ns/p").valid());
  EXPECT_NE(nominations_.find("ns/p"), nullptr);
}

struct SharedRow {
  const char* name;
  std::vector<std::int32_t> used;  // of each card, by one pod
  std::vector<std::size_t> leaving;
  std::int32_t asks;
  std::vector<std::int32_t> free;  // of each card, after the nomination
};

// A pod that is placed by number may get any card. Only as many cards are kept from other shares as
// the pod still needs.
TEST_F(NominationsTest, ByNumberKeepsTheRestOfTheSharedCardsNearestToIdle) {
  for (const SharedRow& row : {
           SharedRow{"the nearest", {400, 100, 200, 100}, {}, 2, {600, 0, 800, 0}},
           {"of equal ones the first", {100, 100, 100, 100}, {}, 1, {0, 900, 900, 900}},
           {"an idle card is enough", {100, 0, 100, 100}, {}, 1, {900, 0, 900, 900}},
           {"an idle card and another one", {300, 0, 100, 200}, {}, 2, {700, 0, 0, 800}},
           {"pods that leave do not count", {300, 900, 100, 200}, {1}, 1, {700, 0, 900, 800}},
           {"nothing is free yet", {300, 1000, 100, 200}, {1}, 1, {700, 0, 900, 800}},
           {"all of them", {300, 500, 100, 200}, {}, 4, {0, 0, 0, 0}},
           {"more than there are", {300, 500, 100, 1000}, {}, 9, {0, 0, 0, 0}},
       }) {
    SCOPED_TRACE(row.name);
    Ledger ledger;
    const NodeIndex there = ledger.upsert_node(node("a").cards(4));
    for (std::uint32_t i = 0; i < row.used.size(); ++i) {
      if (row.used[i] == 0) continue;
      Assignment one;
      one.containers = {{{.card = i, .milli = row.used[i]}}};
      const PodSpec spec = pod("ns/s" + std::to_string(i)).gpus(1).milli(row.used[i]);
      const PodIndex placed = ledger.reserve(spec, there, one);
      ledger.set_leaving(placed,
                         std::find(row.leaving.begin(), row.leaving.end(), i) != row.leaving.end());
    }
    Nominations nominations(ledger, quotas_);
    PodSpec waits = pod("ns/w").gpus(row.asks);
    waits.naming = Naming::never;
    nominations.open({.pod = waits, .node = "a", .until = {100}}, out_);
    std::vector<std::int32_t> free;
    for (const CardState& card : ledger.nodes().cards(there)) free.push_back(card.milli_free);
    EXPECT_EQ(free, row.free);
    EXPECT_EQ(ledger.audit(), std::vector<std::string>());
  }
}

}  // namespace
}  // namespace stowage::core
