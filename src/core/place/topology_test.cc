#include "core/place/topology.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/place/topology_tree.h"

namespace stowage::core {
namespace {

// Tables use one character per card: cards "035", pairs "01 23", and NUMA nodes by card "00?1" with
// ? for unknown.
template <class Number>
std::vector<Number> numbers(std::string_view text) {
  std::vector<Number> result;
  for (const char c : text) result.push_back(static_cast<Number>(c == '?' ? -1 : c - '0'));
  return result;
}

CardMask mask_of(std::string_view cards) {
  CardMask mask = 0;
  for (const std::size_t card : numbers<std::size_t>(cards)) mask |= card_bit(card);
  return mask;
}

std::string text_of(std::optional<CardMask> mask) {
  if (!mask) return "none";
  std::string text;
  for_each(*mask, [&](std::size_t card) { text += static_cast<char>('0' + card); });
  return text;
}

std::string text_of(std::optional<CardChoice> choice) {
  if (!choice) return "none";
  return text_of(choice->cards) + (choice->downgraded ? " downgraded" : "");
}

// Builds a link matrix; several links between a pair add up.
class Machine {
 public:
  explicit Machine(std::size_t cards)
      : links_{.cards = static_cast<std::int32_t>(cards), .score = {}} {
    links_.score.resize(cards * cards);
  }
  Machine& link(std::int32_t score, std::size_t a, std::size_t b) {
    at(a, b) += score;
    at(b, a) += score;
    return *this;
  }
  Machine& link(std::int32_t score, std::string_view pairs) {
    const auto cards = numbers<std::size_t>(pairs);
    for (std::size_t i = 0; i < cards.size(); i += 3) link(score, cards[i], cards[i + 1]);
    return *this;
  }
  // Sets this score for every pair inside `cards` that has none yet.
  Machine& fill(std::int32_t score, CardMask cards) {
    for_each(cards, [&](std::size_t a) {
      for_each(cards, [&](std::size_t b) {
        if (a != b && at(a, b) == 0) at(a, b) = score;
      });
    });
    return *this;
  }
  [[nodiscard]] LinkMatrix done() const { return links_; }

 private:
  std::int32_t& at(std::size_t a, std::size_t b) {
    return links_.score[a * static_cast<std::size_t>(links_.cards) + b];
  }
  LinkMatrix links_;
};

constexpr std::int32_t kCross = link::kCrossCpu;
constexpr std::int32_t kNv1 = link::kNvlink;
constexpr CardMask kLow = 0x0F;
constexpr CardMask kHigh = 0xF0;
constexpr CardMask kAll = 0xFF;
constexpr std::string_view kAll8 = "01234567";
constexpr std::string_view kNeighbours8 = "01 23 45 67";
constexpr std::string_view kCubeSingle = "01 02 13 26 37 45 46 57";
constexpr std::string_view kCubeDouble = "03 04 12 15 23 47 56 67";

LinkMatrix nvswitch() { return Machine(8).fill(18 * kNv1, kAll).done(); }
LinkMatrix dgx1() {
  return Machine(8).link(kNv1, kCubeSingle).link(2 * kNv1, kCubeDouble).fill(kCross, kAll).done();
}
// Pairs with the given score, in halves that are connected by several switches.
LinkMatrix halves_of(std::int32_t score) {
  Machine machine = Machine(8).link(score, kNeighbours8).fill(link::kMultiSwitch, kLow);
  return machine.fill(link::kMultiSwitch, kHigh).fill(kCross, kAll).done();
}
LinkMatrix bridge() { return halves_of(12 * kNv1); }
LinkMatrix pcie() { return halves_of(link::kSingleSwitch); }
LinkMatrix unlinked() { return Machine(4).done(); }
LinkMatrix two_islands() { return Machine(8).fill(kNv1, kLow).fill(kNv1, kHigh).done(); }
LinkMatrix pair_islands() { return Machine(4).link(kNv1, "01 23").done(); }
// Three pairs behind switches; two of them share a host bridge.
LinkMatrix six_cards() {
  Machine machine = Machine(6).link(link::kSingleSwitch, "01 23 45").fill(link::kHostBridge, kLow);
  return machine.fill(kCross, first_cards(6)).done();
}

struct LinkRow {
  std::string name;
  LinkMatrix links;
  std::string_view candidates;
  std::size_t count;
  std::string expected;
  std::string_view numa = "";
};

void check(const std::vector<LinkRow>& rows, bool strict) {
  for (const LinkRow& row : rows) {
    const auto candidates = numbers<std::uint8_t>(row.candidates);
    const auto numa = numbers<std::int32_t>(row.numa);
    EXPECT_EQ(text_of(choose_by_link(row.links, numa, candidates, row.count, strict)), row.expected)
        << row.name;
  }
}

TEST(ChooseByLink, FindsLinkedGroups) {
  const std::vector<LinkRow> rows{
      {"a cube of 4 is one side of it", dgx1(), kAll8, 4, "0123"},
      {"2 of a cube have a double link", dgx1(), kAll8, 2, "03"},
      {"bridges can not hold 4, one half does", bridge(), kAll8, 4, "0123 downgraded"},
      {"2 cards behind one switch", pcie(), kAll8, 2, "01 downgraded"},
      {"4 cards of one half", pcie(), kAll8, 4, "0123 downgraded"},
      {"4 of a switched machine", nvswitch(), kAll8, 4, "0123"},
      {"no links at all: policy order", unlinked(), "0123", 2, "01 downgraded"},
      {"nothing known, 1 card", {}, "0123", 1, "0"},
      {"nothing known, 2 cards", {}, "0123", 2, "01 downgraded"},
      {"1 card, all equal: switched", nvswitch(), kAll8, 1, "0"},
      {"1 card, all equal: cube", dgx1(), kAll8, 1, "0"},
      {"1 card, all equal: PCIe", pcie(), kAll8, 1, "0"},
      {"3 cards span islands of 2", pair_islands(), "0123", 3, "012 downgraded"},
      {"4 cards fill an island", two_islands(), kAll8, 4, "0123"},
      {"policy order chooses in the island", two_islands(), "23456701", 2, "23"},
      {"policy order chooses the island", two_islands(), "76102345", 3, "467"},
      {"too few candidates", nvswitch(), "012", 4, "none"},
      {"nothing asked", nvswitch(), "012", 0, ""},
  };
  check(rows, /*strict=*/false);
}

TEST(ChooseByLink, StrictWantsNvlink) {
  const LinkMatrix plain =
      Machine(4).link(link::kMultiSwitch, "01").link(link::kSameCpu, "02 03").done();
  const LinkMatrix linked = Machine(4).link(kNv1, "01").link(link::kSameCpu, "02 03").done();
  const std::vector<LinkRow> rows{
      {"a bridged pair", bridge(), kAll8, 2, "01"},
      {"bridges do not reach 4", bridge(), kAll8, 4, "none"},
      {"PCIe, 1 card", pcie(), kAll8, 1, "none"},
      {"PCIe, 2 cards", pcie(), kAll8, 2, "none"},
      {"no links, 2 cards", unlinked(), "0123", 2, "none"},
      {"nothing known, 1 card", {}, "0123", 1, "none"},
      {"nothing known, 2 cards", {}, "0123", 2, "none"},
      {"the last free card of a switched machine", nvswitch(), "0", 1, "0"},
      {"cube, 2 cards", dgx1(), kAll8, 2, "03"},
      {"cube, 4 cards", dgx1(), kAll8, 4, "0123"},
      {"cube, 8 cards", dgx1(), kAll8, 8, "01234567"},
      {"PCIe entries only, 1 card", plain, "0123", 1, "none"},
      {"PCIe entries only, 2 cards", plain, "0123", 2, "none"},
      {"one NVLink, 1 card", linked, "3210", 1, "1"},
      {"one NVLink, 2 cards", linked, "3210", 2, "01"},
      {"one NVLink, 3 cards", linked, "0123", 3, "none"},
      {"the cards between them are used", dgx1(), "07", 2, "none"},
  };
  check(rows, /*strict=*/true);
}

TEST(ChooseByLink, EqualMachinesFollowThePolicyOrder) {
  for (const std::string_view order : {"034567", "765430", "507364"}) {
    for (const std::size_t count : {1U, 2U, 4U, 6U}) {
      const auto candidates = numbers<std::uint8_t>(order);
      EXPECT_EQ(text_of(choose_by_link(nvswitch(), {}, candidates, count, true)),
                text_of(mask_of(order.substr(0, count))));
    }
  }
}

TEST(ChooseByLink, LeavesTheBetterGroupBehind) {
  // Strongly linked pairs 3-4 and 5-6 that are connected only through card 7, and 0-1-2 in a row.
  Machine machine = Machine(8).link(12 * kNv1, "34 56").link(kNv1, "47 57 01 12");
  const LinkMatrix heavy = machine.fill(kCross, kAll).done();
  const LinkMatrix chain = Machine(6).link(50, "01 12").link(40, "34 45 35").done();
  const std::vector<LinkRow> rows{
      {"the card whose bridge partner is used", bridge(), "2345670", 1, "0"},
      {"the card whose switch partner is used", pcie(), "0123457", 1, "7"},
      {"the pair that is alone in its half", bridge(), "012367", 2, "67"},
      {"heavy pairs alone are not a connected set", heavy, kAll8, 4, "3457"},
      {"behind switches before a greater sum", chain, "543210", 3, "012 downgraded"},
      {"one NUMA node before any cards", unlinked(), "0123", 2, "13 downgraded", "01?1"},
      {"no NUMA node holds them", {}, kAll8, 5, "01234 downgraded", "00001111"},
      {"NVLink before one NUMA node", pair_islands(), "0123", 2, "01", "0101"},
  };
  check(rows, /*strict=*/false);
}

TEST(ChooseByLink, GrowsGreedilyAboveTheExactLimit) {
  Machine machine(40);
  machine.fill(kNv1, first_cards(20)).fill(kNv1, first_cards(40) & ~first_cards(20));
  const LinkMatrix links = machine.link(kNv1, 30, 31).link(kNv1, 31, 32).link(kNv1, 30, 32).done();
  const CardMask tight = card_bit(30) | card_bit(31) | card_bit(32);
  std::vector<std::uint8_t> candidates(40);
  std::iota(candidates.begin(), candidates.end(), std::uint8_t{0});
  EXPECT_EQ(choose_by_link(links, {}, candidates, 3, true)->cards, tight);
  EXPECT_EQ(choose_by_link(links, {}, candidates, 20, true)->cards,
            first_cards(40) & ~first_cards(20));
  EXPECT_FALSE(choose_by_link(links, {}, candidates, 21, true));
  EXPECT_TRUE(choose_by_link(links, {}, candidates, 40, false)->downgraded);
}

TEST(ChooseByNuma, PrefersOneNode) {
  struct Row {
    std::string name;
    std::string_view numa;
    std::string_view candidates;
    std::size_t count;
    std::string expected;
    std::string expected_strict;
    std::string_view preferred = "";
  };
  const std::vector<Row> rows{
      {"2 cards of one node", "00", "01", 2, "01", "01"},
      {"2 cards of two nodes", "01", "01", 2, "01 downgraded", "none"},
      {"1 card", "00", "01", 1, "0", "0"},
      {"1 card without candidates", "00", "", 1, "none", "none"},
      {"unknown is not one node", "??", "01", 1, "0", "none"},
      {"a known card before an unknown one", "?0", "01", 1, "1", "1"},
      {"two unknown may be apart", "??", "01", 2, "01 downgraded", "none"},
      {"no table is unknown", "", "01", 2, "01 downgraded", "none"},
      {"unknown does not fill up", "?00", "012", 3, "012 downgraded", "none"},
      {"first of two equal nodes", "0011", "0123", 2, "01", "01"},
      {"1 card of two equal nodes", "0011", "0123", 1, "0", "0"},
      {"policy order names the node", "0011", "3021", 2, "23", "23"},
      {"the preferred node goes first", "0011", "0123", 2, "23", "23", "10"},
      {"a preferred node too small", "011", "012", 2, "12", "12", "05"},
      {"as few nodes as possible", "012221", "012345", 5, "12345 downgraded", "none"},
      {"the rest from the most wanted", "011222", "012345", 4, "0345 downgraded", "none"},
      {"nothing asked", "00", "01", 0, "", ""},
  };
  for (const Row& row : rows) {
    const auto numa = numbers<std::int32_t>(row.numa);
    const auto candidates = numbers<std::uint8_t>(row.candidates);
    const auto preferred = numbers<std::int32_t>(row.preferred);
    const auto choose = [&](bool strict) {
      return text_of(choose_by_numa(numa, candidates, row.count, strict, preferred));
    };
    EXPECT_EQ(choose(false), row.expected) << row.name;
    EXPECT_EQ(choose(true), row.expected_strict) << row.name;
  }
}

TEST(NumaOrder, IsByMeanUsage) {
  const auto order = [](std::string_view numa, std::string_view usage, CardMask cards,
                        NumaPreference preference) {
    return numa_order(numbers<std::int32_t>(numa), numbers<std::int32_t>(usage), cards, preference);
  };
  const auto up = numbers<std::int32_t>("01");
  const auto down = numbers<std::int32_t>("10");
  EXPECT_EQ(order("00001111", "24342532", kAll, NumaPreference::fullest), up);
  EXPECT_EQ(order("00001111", "24342532", kAll, NumaPreference::emptiest), down);
  EXPECT_EQ(order("00001111", "25322434", kAll, NumaPreference::fullest), down);
  EXPECT_EQ(order("00001111", "25322434", kAll, NumaPreference::emptiest), up);
  // A mean, not a sum: one card with 5 ranks before four cards with a sum of 13.
  EXPECT_EQ(order("00001111", "24342532", mask_of("01235"), NumaPreference::fullest), down);
  EXPECT_EQ(order("1?00", "9999", mask_of("01"), NumaPreference::fullest), std::vector{1});
  EXPECT_EQ(order("10", "77", kAll & 3, NumaPreference::fullest), up);
}

TEST(ChooseFromTree, FragmentKeepsBigGroupsWholeAndLinkedTakesTheBest) {
  using Row = std::tuple<LinkMatrix, std::string_view, std::size_t, std::string, std::string>;
  const std::vector<Row> rows{
      {six_cards(), "012345", 2, "45", "01"},   {six_cards(), "01235", 1, "5", "0"},
      {Machine(1).done(), "0", 1, "0", "0"},    {{}, "12", 1, "1", "1"},
      {six_cards(), "012345", 3, "012", "012"}, {six_cards(), "01345", 2, "45", "01"},
      {six_cards(), "1345", 2, "13", "45"},     {six_cards(), "013", 1, "3", "0"},
      {six_cards(), "013", 4, "none", "none"},  {six_cards(), "", 0, "", ""},
      {dgx1(), kAll8, 2, "01", "03"},
  };
  for (const auto& [links, free, count, fragment, linked] : rows) {
    EXPECT_EQ(text_of(choose_fragment(links, mask_of(free), count)), fragment) << free;
    EXPECT_EQ(text_of(choose_linked_tree(links, mask_of(free), count)), linked) << free;
  }
}

// A random machine with few different scores, so that ties are common, and a random policy order.
struct Problem {
  LinkMatrix links;
  std::vector<std::int32_t> numa;
  std::vector<std::uint8_t> candidates;
  CardMask usable = 0;
  std::size_t count = 0;
};

// Uniform in [low, high) from the first case on; the library would start with small numbers.
std::size_t pick(std::size_t low, std::size_t high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high));
}

Problem random_problem() {
  Problem problem;
  const std::array<std::int32_t, 8> scores{0, 10, 20, 40, 50, 60, 100, 200};
  const std::size_t kinds = pick(1, 9);  // few, so that the lower tiers are needed
  const std::size_t cards = pick(2, 9);
  Machine machine(cards);
  CardMask left = first_cards(cards);
  for (std::size_t a = 0; a < cards; ++a) {
    problem.numa.push_back(*rc::gen::element(kUnknownNuma, 0, 1));
    for (std::size_t b = 0; b < a; ++b) machine.link(scores[pick(0, kinds)], a, b);
  }
  for (std::size_t missing = pick(1, cards + 1); missing > 0; --missing) {
    std::size_t card = pick(0, cards);
    while (!has_card(left, card)) card = (card + 1) % cards;
    problem.candidates.push_back(static_cast<std::uint8_t>(card));
    left &= ~card_bit(card);
  }
  problem.links = machine.done();
  problem.usable = first_cards(cards) & ~left;
  problem.count = pick(1, problem.candidates.size() + 2);
  return problem;
}

std::int64_t sum_in(const LinkMatrix& links, CardMask set) {
  std::int64_t sum = 0;
  for_each(set, [&](std::size_t a) {
    for_each(set, [&](std::size_t b) { sum += a < b ? links.between(a, b) : 0; });
  });
  return sum;
}

bool connected_at(const LinkMatrix& links, CardMask set, std::int32_t threshold) {
  CardMask seen = card_bit(lowest(set));
  for (std::size_t round = 0; round < popcount(set); ++round) {
    for_each(set & ~seen, [&](std::size_t a) {
      for_each(seen, [&](std::size_t b) {
        if (links.between(a, b) >= threshold) seen |= card_bit(a);
      });
    });
  }
  return seen == set;
}

int tier_of(const Problem& problem, CardMask set) {
  if (problem.count == 1 || connected_at(problem.links, set, link::kNvlink)) return 1;
  if (connected_at(problem.links, set, link::kSingleSwitch)) return 2;
  const std::int32_t node = problem.numa[lowest(set)];
  bool same = node != kUnknownNuma;
  for_each(set, [&](std::size_t card) { same = same && problem.numa[card] == node; });
  return same ? 3 : 4;
}

bool strictly_linked(const Problem& problem, CardMask set) {
  if (problem.count > 1) return tier_of(problem, set) == 1;
  bool linked = false;
  for_each(first_cards(problem.numa.size()), [&](std::size_t card) {
    linked = linked || problem.links.between(lowest(set), card) >= link::kNvlink;
  });
  return linked;
}

std::optional<CardMask> brute_force(const Problem& problem, bool strict) {
  const auto key = [&](CardMask set) {
    std::string misses;  // by rank: the smallest text has the earliest cards
    for (const std::uint8_t card : problem.candidates) misses += has_card(set, card) ? '0' : '1';
    return std::tuple(tier_of(problem, set), -sum_in(problem.links, set),
                      -sum_in(problem.links, problem.usable & ~set), misses);
  };
  std::optional<CardMask> best;
  for (CardMask set = problem.usable; set != 0; set = (set - 1) & problem.usable) {
    if (popcount(set) != problem.count || (strict && !strictly_linked(problem, set))) continue;
    if (!best || key(set) < key(*best)) best = set;
  }
  return best;
}

RC_GTEST_PROP(TopologyProperty, ChooseByLinkEqualsBruteForce, ()) {
  Problem problem = random_problem();
  const auto& [links, numa, candidates, usable, count] = problem;
  for (problem.count = 1; problem.count <= candidates.size() + 1; ++problem.count) {
    for (const bool strict : {false, true}) {
      const auto set = brute_force(problem, strict);
      const auto choice = choose_by_link(links, numa, candidates, count, strict);
      RC_ASSERT(choice.has_value() == set.has_value());
      if (set) RC_ASSERT(choice->cards == *set);
      if (set) RC_ASSERT(choice->downgraded == (tier_of(problem, *set) != 1));
    }
  }
}

RC_GTEST_PROP(TopologyProperty, AnswersAreUsableAndOfTheRightSize, ()) {
  const auto [links, numa, candidates, usable, count] = random_problem();
  const auto strict = choose_by_numa(numa, candidates, count, true);
  const auto loose = choose_by_numa(numa, candidates, count, false);
  if (strict) RC_ASSERT((strict == loose && !strict->downgraded));
  RC_ASSERT(loose.has_value() == (count <= candidates.size()));
  for (const CardMask set :
       {loose.value_or(CardChoice{}).cards, choose_fragment(links, usable, count).value_or(0),
        choose_linked_tree(links, usable, count).value_or(0)}) {
    RC_ASSERT((popcount(set) == (loose ? count : 0) && (set & ~usable) == 0));
  }
}

}  // namespace
}  // namespace stowage::core
