// Compares the ranking with a list that is searched linearly.
#include "core/index/ranking.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.h"

namespace stowage::core {
namespace {

std::int64_t asked(ReasonCode code) { return static_cast<std::int64_t>(code) * 10; }

Verdict fits(std::uint64_t cost) { return {.reason = {}, .cost = cost}; }
Verdict refuses(ReasonCode code, std::int64_t found, bool only = false) {
  return {.reason = {.code = code, .only = only, .asked = asked(code), .found = found}};
}

std::vector<std::uint32_t> shuffled_ranks(std::size_t count, std::uint64_t seed) {
  std::vector<std::uint32_t> ranks(count);
  std::iota(ranks.begin(), ranks.end(), 0U);
  base::Rng rng(seed);
  for (std::size_t i = count; i > 1; --i) std::swap(ranks[i - 1], ranks[rng.below(i)]);
  return ranks;
}

// The trivial implementation.
class List {
 public:
  List(std::size_t rows, std::span<const std::uint32_t> ranks)
      : verdicts_(rows), ranks_(ranks.begin(), ranks.end()) {}

  void set(NodeIndex node, const std::optional<Verdict>& verdict) {
    verdicts_[node.at()] = verdict;
  }
  [[nodiscard]] const Verdict* get(NodeIndex node) const {
    const auto& verdict = verdicts_[node.at()];
    return verdict ? &*verdict : nullptr;
  }

  [[nodiscard]] std::vector<NodeIndex> feasible() const {
    std::vector<NodeIndex> nodes;
    for (std::size_t i = 0; i < verdicts_.size(); ++i) {
      if (verdicts_[i] && verdicts_[i]->reason.code == ReasonCode::none) nodes.emplace_back(i);
    }
    return nodes;
  }

  template <class Allowed>
  [[nodiscard]] NodeIndex best(Allowed allowed) const {
    NodeIndex best;
    for (const NodeIndex node : feasible()) {
      if (!allowed(node)) continue;
      if (!best.valid() || key(node) < key(best)) best = node;
    }
    return best;
  }

  [[nodiscard]] Refusal refusal() const {
    std::map<ReasonCode, ReasonCount> by_code;
    Refusal refusal;
    for (const auto& verdict : verdicts_) {
      if (!verdict || verdict->reason.code == ReasonCode::none) continue;
      const Reason& reason = verdict->reason;
      ReasonCount& count = by_code[reason.code];
      count.code = reason.code;
      count.asked = asked(reason.code);
      ++count.nodes;
      count.best = std::max(count.best, reason.found);
      if (reason.only) count.best_only = std::max(count.best_only, reason.found);
      ++refusal.nodes;
    }
    for (const auto& [code, count] : by_code) refusal.counts.push_back(count);
    std::stable_sort(refusal.counts.begin(), refusal.counts.end(),
                     [](const auto& a, const auto& b) { return a.nodes > b.nodes; });
    return refusal;
  }

 private:
  [[nodiscard]] std::pair<std::uint64_t, std::uint32_t> key(NodeIndex node) const {
    return {verdicts_[node.at()]->cost, ranks_[node.at()]};
  }

  std::vector<std::optional<Verdict>> verdicts_;
  std::vector<std::uint32_t> ranks_;
};

void expect_same(Ranking& ranking, const List& list) {
  const auto everything = [](NodeIndex) { return true; };
  const auto third = [](NodeIndex node) { return node.value % 3 == 0; };
  const auto nothing = [](NodeIndex) { return false; };
  ASSERT_EQ(ranking.best(), list.best(everything));
  ASSERT_EQ(ranking.best_if(everything), list.best(everything));
  ASSERT_EQ(ranking.best_if(third), list.best(third));
  ASSERT_FALSE(ranking.best_if(nothing).valid());
  const auto feasible = list.feasible();
  ASSERT_EQ(ranking.feasible(), feasible.size());
  for (std::size_t n = 0; n < feasible.size(); n += 1 + feasible.size() / 16) {
    ASSERT_EQ(ranking.nth_feasible(n), feasible[n]);
  }
  if (!feasible.empty()) {
    ASSERT_EQ(ranking.nth_feasible(feasible.size() - 1), feasible.back());
  }
  ASSERT_EQ(ranking.refusal(asked), list.refusal());
}

// Few costs and few holes, so that there are ties and the largest hole changes often.
std::optional<Verdict> draw_verdict(base::Rng& rng) {
  switch (rng.below(5)) {
    case 0: return std::nullopt;
    case 1:
    case 2: return fits(rng.below(4));
    default: {
      const auto codes = kReasonCodes - 1;
      const auto code = static_cast<ReasonCode>(1 + rng.below(rng.below(2) == 0 ? 2 : codes));
      return refuses(code, static_cast<std::int64_t>(rng.below(4)), rng.below(2) == 0);
    }
  }
}

class RankingOfSize : public ::testing::TestWithParam<std::size_t> {};

TEST_P(RankingOfSize, AgreesWithAListAfterEveryChange) {
  const std::size_t rows = GetParam();
  const auto ranks = shuffled_ranks(rows, rows);
  base::Rng rng(rows);
  Ranking ranking;
  ranking.reset(rows, ranks);
  List list(rows, ranks);
  ASSERT_NO_FATAL_FAILURE(expect_same(ranking, list)) << "empty";
  const std::size_t checks = rows > 1000 ? 20 : 150;
  for (std::size_t check = 0; check < checks; ++check) {
    const std::size_t changes = 1 + rng.below(rows / 8 + 2);
    for (std::size_t i = 0; i < changes; ++i) {
      const NodeIndex node(static_cast<std::size_t>(rng.below(rows)));
      const auto verdict = draw_verdict(rng);
      list.set(node, verdict);
      if (verdict) {
        ranking.set(node, *verdict);
      } else {
        ranking.clear(node);
      }
    }
    ASSERT_NO_FATAL_FAILURE(expect_same(ranking, list)) << "check " << check;
  }
}

TEST_P(RankingOfSize, AgreesWithAListWhenAssignedAtOnce) {
  const std::size_t rows = GetParam();
  const auto ranks = shuffled_ranks(rows, rows + 1);
  base::Rng rng(rows + 1);
  Ranking ranking;
  ranking.reset(rows, ranks);
  for (int round = 0; round < 3; ++round) {  // later rounds overwrite earlier keys
    List list(rows, ranks);
    for (std::size_t i = 0; i < rows; ++i) list.set(NodeIndex(i), draw_verdict(rng));
    ranking.assign([&](NodeIndex node) { return list.get(node); });
    ASSERT_NO_FATAL_FAILURE(expect_same(ranking, list)) << "round " << round;
    const NodeIndex last(rows - 1);
    ranking.set(last, fits(0));
    list.set(last, fits(0));
    ASSERT_NO_FATAL_FAILURE(expect_same(ranking, list)) << "changed in round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, RankingOfSize,
                         ::testing::Values(1, 15, 16, 17, 63, 64, 65, 1023, 1024, 1025, 5000));

// A short list of changes on a few rows in different blocks and groups, for shrinking.
RC_GTEST_PROP(RankingProperty, AgreesWithAList,
              (const std::vector<std::pair<std::uint8_t, std::uint16_t>>& steps)) {
  constexpr std::size_t kSlots = 2100;
  const std::size_t places[] = {0, 1, 15, 16, 63, 64, 65, 1023, 1024, 1025, 2047, 2048, 2099};
  const auto ranks = shuffled_ranks(kSlots, 3);
  Ranking ranking;
  ranking.reset(kSlots, ranks);
  List list(kSlots, ranks);
  for (const auto& [place, seed] : steps) {
    const NodeIndex node(places[place % std::size(places)]);
    base::Rng rng(seed);
    const auto verdict = draw_verdict(rng);
    list.set(node, verdict);
    if (verdict) {
      ranking.set(node, *verdict);
    } else {
      ranking.clear(node);
    }
    RC_ASSERT(ranking.best() == list.best([](NodeIndex) { return true; }));
    RC_ASSERT(ranking.feasible() == list.feasible().size());
  }
  RC_ASSERT(ranking.refusal(asked) == list.refusal());
}

TEST(Ranking, HoldsNothingWhenThereAreNoSlots) {
  Ranking ranking;
  ranking.reset(0, {});
  EXPECT_FALSE(ranking.best().valid());
  EXPECT_EQ(ranking.feasible(), 0U);
  EXPECT_EQ(ranking.refusal(asked), Refusal{});
}

TEST(Ranking, EqualCostsGoByRank) {
  const std::vector<std::uint32_t> ranks{30, 10, 20};
  Ranking ranking;
  ranking.reset(3, ranks);
  for (std::size_t i = 0; i < 3; ++i) ranking.set(NodeIndex(i), fits(5));
  EXPECT_EQ(ranking.best(), NodeIndex(std::size_t{1}));
  ranking.set(NodeIndex(std::size_t{1}), fits(6));
  EXPECT_EQ(ranking.best(), NodeIndex(std::size_t{2}));
  EXPECT_EQ(ranking.best_if([](NodeIndex node) { return node.value != 2; }),
            NodeIndex(std::size_t{0}));
}

TEST(Ranking, TheLargestHoleShrinksWithItsLastNode) {
  const auto ranks = shuffled_ranks(4, 1);
  Ranking ranking;
  ranking.reset(4, ranks);
  const auto code = ReasonCode::card_memory;
  ranking.set(NodeIndex(std::size_t{0}), refuses(code, 100, true));
  ranking.set(NodeIndex(std::size_t{1}), refuses(code, 900, true));
  ranking.set(NodeIndex(std::size_t{2}), refuses(code, 900, false));
  const auto best = [&] {
    const ReasonCount count = ranking.refusal(asked).counts.at(0);
    return std::pair{count.best, count.best_only};
  };
  EXPECT_EQ(best(), (std::pair<std::int64_t, std::int64_t>{900, 900}));
  ranking.set(NodeIndex(std::size_t{1}), fits(1));
  EXPECT_EQ(best(), (std::pair<std::int64_t, std::int64_t>{900, 100}));
  ranking.clear(NodeIndex(std::size_t{2}));
  EXPECT_EQ(best(), (std::pair<std::int64_t, std::int64_t>{100, 100}));
  ranking.set(NodeIndex(std::size_t{0}), refuses(code, 100, false));
  EXPECT_EQ(best(), (std::pair<std::int64_t, std::int64_t>{100, -1}));
}

TEST(Ranking, KeepsLargeNumbersOfAReason) {
  const auto ranks = shuffled_ranks(1, 1);
  Ranking ranking;
  ranking.reset(1, ranks);
  const std::int64_t bytes = std::int64_t{1} << 50U;
  ranking.set(NodeIndex(std::size_t{0}), refuses(ReasonCode::memory, bytes, true));
  EXPECT_EQ(ranking.refusal(asked).counts.at(0).best, bytes);
  ranking.set(NodeIndex(std::size_t{0}), refuses(ReasonCode::extended, -3));
  EXPECT_EQ(ranking.refusal(asked).counts.at(0).best, 0);
}

}  // namespace
}  // namespace stowage::core
