#include "core/ledger/ledger.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::node;
using testing::pod;

Assignment on_card(std::uint32_t card, std::int32_t milli, std::int32_t memory_mib) {
  return {.containers = {{{.card = card, .milli = milli, .memory_mib = memory_mib}}}};
}
Assignment whole_cards(std::initializer_list<std::uint32_t> cards, std::int32_t memory_mib) {
  Assignment assignment{.containers = {{}}};
  for (const auto card : cards) {
    assignment.containers[0].push_back(
        {.card = card, .milli = kMilliPerCard, .memory_mib = memory_mib});
  }
  return assignment;
}

// Free capacity of the node's cards, "milli/MiB" each, or "milli/MiB/slots" if slots are limited.
std::string free_cards(const Ledger& ledger, std::string_view name) {
  std::string text;
  for (const CardState& card : ledger.nodes().cards(ledger.nodes().find(name))) {
    text += text.empty() ? "" : " ";
    text += std::to_string(card.milli_free) + "/" + std::to_string(card.memory_free_mib);
    if (card.slots_free != kNoSlotLimit) text += "/" + std::to_string(card.slots_free);
  }
  return text;
}

std::uint64_t whole(const Ledger& ledger, std::string_view name) {
  return ledger.nodes().state(ledger.nodes().find(name)).whole;
}

std::string debts_of(const Ledger& ledger) {
  std::string text;
  for (const auto& debt : ledger.nodes().debts()) {
    text += text.empty() ? "" : ", ";
    text += ledger.nodes().spec(debt.node).name + "/" + std::to_string(debt.excess.card) + " " +
            std::to_string(debt.excess.milli) + "/" + std::to_string(debt.excess.memory_mib) + "/" +
            std::to_string(debt.excess.slots);
  }
  return text;
}

void expect_sound(const Ledger& ledger) { EXPECT_EQ(ledger.audit(), std::vector<std::string>{}); }

NodeSpec two_cards(const std::string& name) { return node(name).cards(2).memory_mib(1000); }

// ---- the life of a pod that we place ------------------------------------------------------------

TEST(Ledger, ReserveTakesWhatReleaseGivesBack) {
  Ledger ledger;
  const NodeIndex n = ledger.upsert_node(node("n").cards(2).memory_mib(1000).slots(3));
  EXPECT_EQ(free_cards(ledger, "n"), "1000/1000/3 1000/1000/3");
  EXPECT_EQ(whole(ledger, "n"), 0b11U);

  const PodIndex p =
      ledger.reserve(pod("p").milli(400).memory_mib(300).cpu_milli(1000), n, on_card(1, 400, 300));
  EXPECT_EQ(ledger.pods().record(p).state, PodState::reserved);
  EXPECT_EQ(free_cards(ledger, "n"), "1000/1000/3 600/700/2");
  EXPECT_EQ(whole(ledger, "n"), 0b01U);
  EXPECT_EQ(ledger.nodes().state(n).cpu_free_milli, 127000);
  EXPECT_EQ(ledger.nodes().state(n).pods_free, 109);
  expect_sound(ledger);

  ledger.confirm(p);
  EXPECT_EQ(ledger.pods().record(p).state, PodState::bound);
  EXPECT_EQ(free_cards(ledger, "n"), "1000/1000/3 600/700/2");
  expect_sound(ledger);

  ledger.release(p);
  EXPECT_FALSE(ledger.pods().find("p").valid());
  EXPECT_EQ(free_cards(ledger, "n"), "1000/1000/3 1000/1000/3");
  EXPECT_EQ(whole(ledger, "n"), 0b11U);
  EXPECT_EQ(ledger.nodes().state(n).cpu_free_milli, 128000);
  EXPECT_EQ(ledger.pods().count(), 0U);
  expect_sound(ledger);
}

TEST(Ledger, CountsEveryResourceOfTheNode) {
  Ledger ledger;
  NodeSpec spec = node("n").cpu_milli(4000).memory_bytes(100).pods(2).extended("nic", 3);
  spec.allocatable.ephemeral_bytes = 50;
  const NodeIndex n = ledger.upsert_node(spec);
  const auto nic = ledger.names().resources().find("nic");

  PodSpec p = pod("p").cpu_milli(1500).memory_bytes(30).extended("nic", 2);
  p.containers[0].resources.ephemeral_bytes = 20;
  p.overhead.cpu_milli = 100;
  const PodIndex index = ledger.reserve(p, n, Assignment{.containers = {{}}});
  EXPECT_EQ(ledger.nodes().state(n).cpu_free_milli, 2400);
  EXPECT_EQ(ledger.nodes().state(n).memory_free_bytes, 70);
  EXPECT_EQ(ledger.nodes().state(n).ephemeral_free_bytes, 30);
  EXPECT_EQ(ledger.nodes().state(n).pods_free, 1);
  EXPECT_EQ(ledger.nodes().record(n).extended_free(nic), 1);
  EXPECT_EQ(ledger.nodes().record(n).extended_free(ledger.names().resources().find("unheard-of")),
            0);
  expect_sound(ledger);

  ledger.release(index);
  EXPECT_EQ(ledger.nodes().record(n).extended_free(nic), 3);
  EXPECT_EQ(ledger.nodes().state(n).ephemeral_free_bytes, 50);
  expect_sound(ledger);
}

TEST(Ledger, ShowsZeroWhereOthersUseMoreThanThereIs) {
  Ledger ledger;
  const NodeIndex n = ledger.upsert_node(node("n").cpu_milli(1000).pods(1).extended("nic", 1));
  ledger.seen_bound(pod("a").cpu_milli(800).extended("nic", 1), "n", std::nullopt);
  ledger.seen_bound(pod("b").cpu_milli(800).extended("nic", 1), "n", std::nullopt);
  EXPECT_EQ(ledger.nodes().state(n).cpu_free_milli, 0);
  EXPECT_EQ(ledger.nodes().state(n).pods_free, 0);
  EXPECT_EQ(ledger.nodes().record(n).extended_free(ledger.names().resources().find("nic")), 0);
  ledger.release(ledger.pods().find("a"));
  EXPECT_EQ(ledger.nodes().state(n).cpu_free_milli, 200);
  EXPECT_EQ(ledger.nodes().state(n).pods_free, 0);
  expect_sound(ledger);
}

TEST(Ledger, ChargesInitContainersAndSidecarsByTheirPhase) {
  Ledger ledger;
  const NodeIndex n = ledger.upsert_node(node("n").cards(1).memory_mib(10000).slots(5));
  const PodSpec p = pod("p")
                        .init("i")
                        .milli(200)
                        .memory_mib(8000)
                        .sidecar("s")
                        .milli(100)
                        .container("a")
                        .milli(600)
                        .memory_mib(4000);
  ledger.reserve(p, n,
                 {.containers = {{{.card = 0, .milli = 200, .memory_mib = 8000}},
                                 {{.card = 0, .milli = 100, .memory_mib = 0}},
                                 {{.card = 0, .milli = 600, .memory_mib = 4000}}}});
  // 100 + max(600, 200) milli, max(4000, 8000) MiB, 1 + max(1, 1) slots
  EXPECT_EQ(free_cards(ledger, "n"), "300/2000/3");
  expect_sound(ledger);
}

TEST(LedgerDeathTest, RefusesAReservationThatDoesNotFit) {
  Ledger ledger;
  const NodeIndex n = ledger.upsert_node(two_cards("n"));
  ledger.reserve(pod("a").milli(600), n, on_card(0, 600, 0));
  EXPECT_DEATH(ledger.reserve(pod("b").milli(600), n, on_card(0, 600, 0)), "charges");
  EXPECT_DEATH(ledger.reserve(pod("a").milli(100), n, on_card(1, 100, 0)), "by_uid_");
}

// ---- pods placed by others ----------------------------------------------------------------------

TEST(Ledger, SeeingOurOwnPodBoundChangesNothing) {
  Ledger ledger;
  const NodeIndex n = ledger.upsert_node(two_cards("n"));
  const PodSpec p = pod("p").milli(400);
  ledger.reserve(p, n, on_card(1, 400, 0));
  const PodIndex seen = ledger.seen_bound(p, "n", std::nullopt);
  EXPECT_EQ(ledger.pods().record(seen).state, PodState::bound);
  EXPECT_EQ(free_cards(ledger, "n"), "1000/1000 600/1000");
  ledger.seen_bound(p, "n", on_card(1, 400, 0));
  EXPECT_EQ(free_cards(ledger, "n"), "1000/1000 600/1000");
  EXPECT_EQ(ledger.pods().count(), 1U);
  expect_sound(ledger);
}

TEST(Ledger, APodSeenElsewhereMovesThere) {
  Ledger ledger;
  const NodeIndex a = ledger.upsert_node(two_cards("a"));
  ledger.upsert_node(two_cards("b"));
  const PodSpec p = pod("p").milli(400);
  ledger.reserve(p, a, on_card(0, 400, 0));
  ledger.seen_bound(p, "b", on_card(1, 400, 0));
  EXPECT_EQ(free_cards(ledger, "a"), "1000/1000 1000/1000");
  EXPECT_EQ(free_cards(ledger, "b"), "1000/1000 600/1000");
  expect_sound(ledger);
}

struct UnknownRow {
  const char* name;
  PodSpec pod;
  const char*
      free;  // of a node with three cards: 0 (1000 MiB) free, 1 (1000 MiB) half used, 2 (2000 MiB)
};

TEST(Ledger, ChargesUnknownCardsConservatively) {
  const UnknownRow rows[] = {
      {"a whole card may be any that looks free", pod("u").gpus(1), "0/0/0 500/500/4 0/0/0"},
      {"two whole cards too", pod("u").gpus(2), "0/0/0 500/500/4 0/0/0"},
      {"a share may be on every card", pod("u").milli(300).memory_mib(200),
       "700/800/4 200/300/3 700/1800/4"},
      {"a share of each of two cards is one share of any one card", pod("u").gpus(2).milli(300),
       "700/1000/4 200/500/3 700/2000/4"},
      {"memory alone", pod("u").memory_mib(600), "1000/400/4 500/0/3 1000/1400/4"},
      {"all the memory of a card, whichever", pod("u").milli(100).whole_memory(),
       "900/0/4 400/0/3 900/0/4"},
      {"two containers may share a card",
       pod("u").container("a").milli(300).container("b").milli(300),
       "400/1000/3 0/500/2 400/2000/3"},
      {"two containers with the memory of any card",
       pod("u").container("a").milli(1).whole_memory().container("b").milli(1).whole_memory(),
       "998/0/3 498/0/2 998/0/3"},
      {"a pod without cards", pod("u").cpu_milli(100), "1000/1000/5 500/500/4 1000/2000/5"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Ledger ledger;
    ledger.upsert_node(
        node("n").cards(2).memory_mib(1000).slots(5).cards(1).memory_mib(2000).slots(5));
    ledger.seen_bound(pod("known").milli(500).memory_mib(500), "n", on_card(1, 500, 500));
    const PodIndex u = ledger.seen_bound(row.pod, "n", std::nullopt);
    EXPECT_EQ(free_cards(ledger, "n"), row.free);
    const bool asks = row.pod.containers[0].gpu.count > 0;
    EXPECT_EQ(ledger.pods().record(u).state,
              asks ? PodState::bound_cards_unknown : PodState::bound);
    EXPECT_EQ(whole(ledger, "n"), asks ? 0U : 0b101U);
    expect_sound(ledger);
    ledger.release(u);
    EXPECT_EQ(free_cards(ledger, "n"), "1000/1000/5 500/500/4 1000/2000/5");
    EXPECT_EQ(whole(ledger, "n"), 0b101U);
    expect_sound(ledger);
  }
}

TEST(Ledger, ChargesOnlyTheCardsOnceTheyAreNamed) {
  Ledger ledger;
  ledger.upsert_node(node("n").cards(3).memory_mib(1000));
  const PodSpec p = pod("u").gpus(1);
  ledger.seen_bound(p, "n", std::nullopt);
  EXPECT_EQ(free_cards(ledger, "n"), "0/0/0 0/0/0 0/0/0");
  ledger.seen_bound(p, "n", whole_cards({1}, 1000));
  EXPECT_EQ(free_cards(ledger, "n"), "1000/1000 0/0 1000/1000");
  EXPECT_EQ(whole(ledger, "n"), 0b101U);
  ledger.seen_bound(p, "n", std::nullopt);  // seen again without cards: they stay known
  EXPECT_EQ(free_cards(ledger, "n"), "1000/1000 0/0 1000/1000");
  expect_sound(ledger);
}

TEST(Ledger, ShowsDebtMadeByOthersAndDrainsIt) {
  Ledger ledger;
  ledger.upsert_node(node("n").cards(2).memory_mib(1000).slots(2));
  for (const char* uid : {"a", "b", "c"}) {
    ledger.seen_bound(pod(uid).milli(600).memory_mib(400), "n", on_card(1, 600, 400));
  }
  EXPECT_EQ(free_cards(ledger, "n"), "1000/1000/2 0/0/0");
  EXPECT_EQ(debts_of(ledger), "n/1 800/200/1");
  expect_sound(ledger);
  ledger.release(ledger.pods().find("b"));
  EXPECT_EQ(debts_of(ledger), "n/1 200/0/0");
  EXPECT_EQ(free_cards(ledger, "n"), "1000/1000/2 0/200/0");
  ledger.release(ledger.pods().find("a"));
  EXPECT_EQ(debts_of(ledger), "");
  EXPECT_EQ(free_cards(ledger, "n"), "1000/1000/2 400/600/1");
  expect_sound(ledger);
}

// ---- nodes and cards that are added and removed -------------------------------------------------

TEST(Ledger, ANodeThatReturnsFindsItsPodsCharged) {
  Ledger ledger;
  const NodeIndex n = ledger.upsert_node(two_cards("n"));
  ledger.upsert_node(two_cards("other"));
  ledger.reserve(pod("p").milli(300), n, on_card(0, 300, 0));
  ledger.remove_node("n");
  EXPECT_EQ(ledger.nodes().count(), 1U);
  EXPECT_FALSE(ledger.nodes().present(ledger.nodes().find("n")));
  EXPECT_FALSE(ledger.nodes().state(ledger.nodes().find("n")).schedulable);
  EXPECT_EQ(ledger.pods().count(), 1U);
  expect_sound(ledger);

  ledger.upsert_node(two_cards("n"));
  EXPECT_EQ(free_cards(ledger, "n"), "700/1000 1000/1000");
  EXPECT_EQ(ledger.nodes().count(), 2U);
  expect_sound(ledger);
}

TEST(Ledger, AnAbsentNodeIsForgottenWithItsLastPod) {
  Ledger ledger;
  const NodeIndex n = ledger.upsert_node(two_cards("n"));
  const PodIndex p = ledger.reserve(pod("p").milli(300), n, on_card(0, 300, 0));
  ledger.remove_node("n");
  ledger.release(p);
  EXPECT_FALSE(ledger.nodes().find("n").valid());
  expect_sound(ledger);
  EXPECT_EQ(ledger.upsert_node(two_cards("m")), n) << "the slot is used again";
  EXPECT_EQ(free_cards(ledger, "m"), "1000/1000 1000/1000");
  ledger.remove_node("never-heard-of");
  expect_sound(ledger);
}

TEST(Ledger, RowsOfCardsAreUsedAgainWhenANodeFlaps) {
  Ledger ledger;
  const NodeIndex n = ledger.upsert_node(two_cards("n"));
  const auto first_card = ledger.nodes().state(n).first_card;
  for (int i = 0; i < 10; ++i) {
    ledger.remove_node("n");
    EXPECT_EQ(ledger.upsert_node(two_cards("n")), n);
  }
  EXPECT_EQ(ledger.nodes().state(n).first_card, first_card);
  expect_sound(ledger);
}

TEST(Ledger, ChargesFollowACardToAnotherPosition) {
  Ledger ledger;
  NodeSpec spec = node("n").cards(3).memory_mib(1000);
  const NodeIndex n = ledger.upsert_node(spec);
  ledger.reserve(pod("p").milli(300), n, on_card(2, 300, 0));
  ledger.reserve(pod("q").milli(100), n, on_card(0, 100, 0));
  std::swap(spec.cards[0], spec.cards[2]);
  ledger.upsert_node(spec);
  EXPECT_EQ(free_cards(ledger, "n"), "700/1000 1000/1000 900/1000");
  expect_sound(ledger);
}

TEST(Ledger, ACardThatVanishesKeepsItsChargesUntilItReturns) {
  Ledger ledger;
  NodeSpec full = node("n").cards(3).memory_mib(1000);
  for (Card& card : full.cards) card.id = "GPU-" + std::to_string(card.index);
  const NodeIndex n = ledger.upsert_node(full);
  ledger.reserve(pod("p").gpus(2), n, whole_cards({0, 1}, 1000));
  NodeSpec less = full;
  less.cards.erase(less.cards.begin());
  ledger.upsert_node(less);
  EXPECT_EQ(free_cards(ledger, "n"), "0/0 1000/1000");
  EXPECT_EQ(ledger.pods().record(ledger.pods().find("p")).orphans.size(), 1U);
  expect_sound(ledger);

  NodeSpec turned = full;
  std::reverse(turned.cards.begin(), turned.cards.end());
  ledger.upsert_node(turned);
  EXPECT_EQ(free_cards(ledger, "n"), "1000/1000 0/0 0/0");
  EXPECT_EQ(ledger.pods().record(ledger.pods().find("p")).orphans.size(), 0U);
  expect_sound(ledger);
  ledger.upsert_node(less);
  ledger.release(ledger.pods().find("p"));  // while one of its cards is absent
  ledger.upsert_node(full);
  EXPECT_EQ(free_cards(ledger, "n"), "1000/1000 1000/1000 1000/1000");
  expect_sound(ledger);
}

TEST(Ledger, APodOnAnUnknownNodeIsChargedWhenTheNodeComes) {
  Ledger ledger;
  const std::vector<std::string> absent{"n/1"};
  ledger.seen_bound(pod("known").milli(300), "n", on_card(0, 300, 0), absent);
  ledger.seen_bound(pod("unknown").milli(200).cpu_milli(1000), "n", std::nullopt);
  EXPECT_EQ(ledger.nodes().count(), 0U);
  EXPECT_EQ(ledger.pods().count(), 2U);
  EXPECT_FALSE(ledger.nodes().present(ledger.nodes().find("n")));
  expect_sound(ledger);
  const NodeIndex n = ledger.upsert_node(two_cards("n"));
  EXPECT_EQ(free_cards(ledger, "n"), "800/1000 500/1000");
  EXPECT_EQ(ledger.nodes().state(n).cpu_free_milli, 127000);
  expect_sound(ledger);
}

TEST(Ledger, APodOnACardThatTheNodeDoesNotShowYetIsChargedWhenItDoes) {
  Ledger ledger;
  ledger.upsert_node(two_cards("n"));
  const std::vector<std::string> absent{"n/2"};
  ledger.seen_bound(pod("p").gpus(2), "n", whole_cards({1, 2}, 1000), absent);
  EXPECT_EQ(free_cards(ledger, "n"), "0/0/0 0/0") << "the other card may be the first";
  ledger.upsert_node(node("n").cards(3).memory_mib(1000));
  EXPECT_EQ(free_cards(ledger, "n"), "1000/1000 0/0 0/0");
  expect_sound(ledger);
}

TEST(Ledger, UnhealthyCardsAreShownButNotWhole) {
  Ledger ledger;
  const NodeIndex n = ledger.upsert_node(node("n").cards(1).cards(1).unhealthy().cards(1));
  EXPECT_EQ(ledger.nodes().state(n).healthy, 0b101U);
  EXPECT_EQ(ledger.nodes().state(n).whole, 0b101U);
  NodeSpec cured = node("n").cards(3);
  ledger.upsert_node(cured);
  EXPECT_EQ(ledger.nodes().state(n).whole, 0b111U);
  expect_sound(ledger);
}

// ---- order among equals, classes, changes -------------------------------------------------------

std::vector<std::string> names_by_rank(const Ledger& ledger) {
  std::vector<std::pair<std::uint32_t, std::string>> ranked;
  for (std::size_t i = 0; i < ledger.nodes().rows(); ++i) {
    if (ledger.nodes().present(NodeIndex(i))) {
      ranked.emplace_back(ledger.nodes().order().rank(NodeIndex(i)),
                          ledger.nodes().spec(NodeIndex(i)).name);
    }
  }
  std::sort(ranked.begin(), ranked.end());
  const auto same_rank = [](const auto& a, const auto& b) { return a.first == b.first; };
  EXPECT_EQ(std::adjacent_find(ranked.begin(), ranked.end(), same_rank), ranked.end());
  std::vector<std::string> names;
  for (const auto& [rank, name] : ranked) names.push_back(name);
  return names;
}

TEST(Ledger, RanksNodesByNameInWhateverOrderTheyCome) {
  Ledger ledger;
  std::vector<std::string> names;
  base::Rng rng(7);
  for (int i = 0; i < 300; ++i) {
    // Names that always fall between the same two names use up the gap there.
    const std::string name = i % 2 == 0
                                 ? "m" + std::string(static_cast<std::size_t>(i), 'a')
                                 : "n" + std::to_string(rng.below(1000)) + "-" + std::to_string(i);
    ledger.upsert_node(node(name));
    names.push_back(name);
  }
  for (int i = 0; i < 40; ++i) {
    const std::size_t gone = rng.below(names.size());
    ledger.remove_node(names[gone]);
    names.erase(names.begin() + static_cast<std::ptrdiff_t>(gone));
  }
  ledger.upsert_node(node("a"));
  names.emplace_back("a");
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names_by_rank(ledger), names);
}

TEST(Ledger, AGivenRankGoesBeforeTheName) {
  Ledger ledger;
  ledger.upsert_node(node("a").rank(30));
  ledger.upsert_node(node("b").rank(10));
  ledger.upsert_node(node("c").rank(20));
  EXPECT_EQ(names_by_rank(ledger), (std::vector<std::string>{"b", "c", "a"}));
  const auto layout = ledger.nodes().order().version();
  ledger.upsert_node(node("b").rank(40));
  EXPECT_EQ(names_by_rank(ledger), (std::vector<std::string>{"c", "a", "b"}));
  EXPECT_NE(ledger.nodes().order().version(), layout);
}

TEST(Ledger, CountsNodesThatAreAlike) {
  Ledger ledger;
  const NodeIndex a = ledger.upsert_node(node("a").cards(2).model("T4"));
  const NodeIndex b = ledger.upsert_node(node("b").cards(2).model("T4"));
  const NodeIndex c = ledger.upsert_node(node("c").cards(2).model("A100"));
  EXPECT_EQ(ledger.nodes().state(a).node_class, ledger.nodes().state(b).node_class);
  EXPECT_NE(ledger.nodes().state(a).node_class, ledger.nodes().state(c).node_class);
  EXPECT_EQ(ledger.classes().nodes(ledger.nodes().state(a).node_class), 2U);
  ledger.upsert_node(node("b").cards(2).model("A100"));
  EXPECT_EQ(ledger.classes().nodes(ledger.nodes().state(a).node_class), 1U);
  EXPECT_EQ(ledger.classes().nodes(ledger.nodes().state(c).node_class), 2U);
  ledger.remove_node("c");
  EXPECT_EQ(ledger.classes().nodes(ledger.nodes().state(b).node_class), 1U);
  expect_sound(ledger);
}

TEST(Ledger, TellsWhichNodesChanged) {
  Ledger ledger;
  const NodeIndex a = ledger.upsert_node(two_cards("a"));
  const NodeIndex b = ledger.upsert_node(two_cards("b"));
  const auto changes = [&](std::uint64_t from) {
    const auto list = ledger.changes().since(from);
    return list ? std::vector<NodeIndex>(list->begin(), list->end()) : std::vector<NodeIndex>{};
  };
  std::uint64_t from = ledger.changes().count();
  EXPECT_TRUE(changes(from).empty());
  const PodIndex p = ledger.reserve(pod("p").milli(100), b, on_card(0, 100, 0));
  EXPECT_EQ(changes(from), std::vector<NodeIndex>{b});
  ledger.upsert_node(node("a").cards(3));
  ledger.release(p);
  EXPECT_EQ(changes(from), (std::vector<NodeIndex>{b, a, b}));

  from = ledger.changes().count();
  const auto layout = ledger.nodes().order().version();
  ledger.upsert_node(node("a").cards(3));  // a heartbeat without changes
  EXPECT_TRUE(changes(from).empty());
  EXPECT_EQ(ledger.nodes().order().version(), layout);
}

TEST(Ledger, ForgetsOldChangesAndSaysSo) {
  Ledger ledger;
  const NodeIndex n = ledger.upsert_node(two_cards("n"));
  const std::uint64_t from = ledger.changes().count();
  for (int i = 0; i < 5000; ++i) {
    ledger.release(ledger.reserve(pod("p").milli(100), n, on_card(0, 100, 0)));
  }
  EXPECT_EQ(ledger.changes().count(), from + 10000);
  EXPECT_FALSE(ledger.changes().since(from).has_value());
  ASSERT_TRUE(ledger.changes().since(ledger.changes().count() - 100).has_value());
  EXPECT_EQ(ledger.changes().since(ledger.changes().count() - 100)->size(), 100U);
}

}  // namespace
}  // namespace stowage::core
