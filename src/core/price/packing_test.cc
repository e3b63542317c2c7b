#include "core/price/packing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace stowage::core {
namespace {

constexpr std::size_t kMostItems = 128;  // as in packing.cc
constexpr int kMostRounds = kMostItems * 40 + 2;
constexpr double kClose = 1e-6;

Packing solve(std::vector<PackingItem> items, bool two_dimensional) {
  Packing packing;
  packing.start(std::move(items), two_dimensional);
  int rounds = 0;
  while (packing.running() && rounds < kMostRounds) {
    packing.step();
    ++rounds;
  }
  EXPECT_FALSE(packing.running()) << "no end after " << rounds << " rounds";
  return packing;
}

double objective(const Packing& packing) {
  double sum = 0;
  for (std::size_t i = 0; i < packing.items().size(); ++i) {
    sum += packing.items()[i].demand * packing.prices()[i];
  }
  return sum;
}

// ---- a brute-force solution of the same linear program ------------------------------------------

using Pattern = std::vector<int>;

// Every way to fill a card, by trying all counts. In two dimensions, sizes are rounded up to the
// grid of the packing.
std::vector<Pattern> all_patterns(const std::vector<PackingItem>& items, bool two_dimensional) {
  const auto on_grid = [&](int permille) {
    return two_dimensional ? (permille + 19) / 20 * 20 : permille;
  };
  std::vector<Pattern> patterns{Pattern(items.size(), 0)};
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::size_t before = patterns.size();
    for (std::size_t p = 0; p < before; ++p) {
      for (int count = 1; count <= 1000; ++count) {
        Pattern next = patterns[p];
        next[i] = count;
        int milli = 0;
        int memory = 0;
        for (std::size_t k = 0; k < items.size(); ++k) {
          milli += next[k] * on_grid(items[k].milli);
          memory += next[k] * on_grid(items[k].memory_permille);
        }
        if (milli > 1000 || memory > 1000) break;
        patterns.push_back(std::move(next));
      }
    }
  }
  return patterns;
}

double worth(const Pattern& pattern, const std::vector<double>& prices) {
  double sum = 0;
  for (std::size_t i = 0; i < prices.size(); ++i) sum += pattern[i] * prices[i];
  return sum;
}

// Solves m x = b in place. False if m is singular.
bool solve_square(std::vector<std::vector<double>> m, std::vector<double>& b) {
  const std::size_t n = b.size();
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c; r < n; ++r) {
      if (std::abs(m[r][c]) > std::abs(m[pivot][c])) pivot = r;
    }
    if (std::abs(m[pivot][c]) < 1e-9) return false;
    std::swap(m[c], m[pivot]);
    std::swap(b[c], b[pivot]);
    for (std::size_t r = 0; r < n; ++r) {
      if (r == c) continue;
      const double factor = m[r][c] / m[c][c];
      for (std::size_t k = c; k < n; ++k) m[r][k] -= factor * m[c][k];
      b[r] -= factor * b[c];
    }
  }
  for (std::size_t c = 0; c < n; ++c) b[c] /= m[c][c];
  return true;
}

// The fewest cards (fractions allowed) that meet the demand: the best of all basic solutions.
double fewest_cards(const std::vector<PackingItem>& items, bool two_dimensional) {
  std::vector<std::pair<Pattern, double>> columns;  // with cost
  for (auto& pattern : all_patterns(items, two_dimensional)) columns.emplace_back(pattern, 1.0);
  for (std::size_t i = 0; i < items.size(); ++i) {
    Pattern surplus(items.size(), 0);
    surplus[i] = -1;
    columns.emplace_back(surplus, 0.0);
  }
  const std::size_t n = items.size();
  double best = std::numeric_limits<double>::infinity();
  std::vector<std::size_t> chosen(n);
  const auto try_basis = [&] {
    std::vector<std::vector<double>> m(n, std::vector<double>(n));
    std::vector<double> level;
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t c = 0; c < n; ++c) m[r][c] = columns[chosen[c]].first[r];
      level.push_back(items[r].demand);
    }
    if (!solve_square(std::move(m), level)) return;
    double cost = 0;
    for (std::size_t c = 0; c < n; ++c) {
      if (level[c] < -1e-9) return;
      cost += level[c] * columns[chosen[c]].second;
    }
    best = std::min(best, cost);
  };
  const auto choose = [&](const auto& self, std::size_t depth, std::size_t from) -> void {
    if (depth == n) return try_basis();
    for (std::size_t k = from; k < columns.size(); ++k) {
      chosen[depth] = k;
      self(self, depth + 1, k + 1);
    }
  };
  choose(choose, 0, 0);
  return best;
}

// ---- known instances ----------------------------------------------------------------------------

struct PriceRow {
  const char* name;
  std::vector<PackingItem> items;  // largest first, as Packing keeps them
  std::vector<double> prices;
  bool two_dimensional = false;
};

TEST(Packing, FindsTheTrueCostOfSizes) {
  const PriceRow rows[] = {
      {"810 fills a card, 470 half of one", {{810, 0, 5}, {470, 0, 5}}, {1.0, 0.5}},
      {"three of 330 fill a card", {{330, 0, 7}}, {1.0 / 3}},
      {"sizes that divide a card cost what they say",
       {{750, 0, 1}, {500, 0, 3}, {250, 0, 9}},
       {0.75, 0.5, 0.25}},
      {"many small ones: a large one costs what it takes from them",
       {{600, 0, 1}, {300, 0, 10}},
       {2.0 / 3, 1.0 / 3}},
      {"many large ones: the small ones go beside them for nothing",
       {{600, 0, 10}, {300, 0, 1}},
       {1.0, 0.0}},
      {"just over half a card costs a card", {{501, 0, 1}}, {1.0}},
      {"memory alone: two of 400 permille fill a card", {{0, 400, 3}}, {0.5}, true},
      {"memory alone beside compute alone: the scarce one pays",
       {{600, 0, 1}, {0, 400, 10}},
       {0.0, 0.5},
       true},
      {"the larger dimension counts", {{200, 500, 4}, {100, 500, 4}}, {0.5, 0.5}, true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Packing packing = solve(row.items, row.two_dimensional);
    ASSERT_EQ(packing.prices().size(), row.prices.size());
    for (std::size_t i = 0; i < row.prices.size(); ++i) {
      EXPECT_NEAR(packing.prices()[i], row.prices[i], kClose) << "size " << i;
    }
    EXPECT_NEAR(objective(packing), fewest_cards(row.items, row.two_dimensional), kClose);
  }
}

TEST(Packing, TakesSmallGains) {
  // One share of 101 and nine of 99 fill a card better than nine of 101 or ten of 99, by one
  // percent.
  const std::vector<PackingItem> items{{101, 0, 5}, {99, 0, 9}};
  EXPECT_NEAR(objective(solve(items, false)), fewest_cards(items, false), kClose);
}

TEST(Packing, AnOldSolutionIsAStartForNewDemand) {
  Packing packing = solve({{600, 0, 1}, {300, 0, 10}}, false);
  for (const auto& [large, small] : {std::pair{10.0, 1.0}, {1.0, 10.0}, {3.0, 3.0}, {2.0, 0.5}}) {
    packing.start({{600, 0, large}, {300, 0, small}}, false);
    while (packing.running()) packing.step();
    const Packing cold = solve({{600, 0, large}, {300, 0, small}}, false);
    EXPECT_NEAR(objective(packing), objective(cold), kClose);
  }
  packing.start({{600, 400, 1}, {300, 500, 4}}, true);  // also with another number of dimensions
  while (packing.running()) packing.step();
  EXPECT_NEAR(objective(packing), fewest_cards(packing.items(), true), kClose);
}

TEST(Packing, LeavesOutWhatIsNoShare) {
  const std::vector<PackingItem> hostile{
      {0, 0, 5},     {1000, 0, 5}, {1001, 0, 5}, {-5, 0, 5},
      {500, 0, 0},   {500, 0, -3}, {300, -1, 5}, {std::numeric_limits<std::int32_t>::max(), 0, 1},
      {400, 1001, 5}};
  for (const bool two_dimensional : {false, true}) {
    const Packing packing = solve(hostile, two_dimensional);
    EXPECT_TRUE(packing.items().empty());
    EXPECT_TRUE(packing.prices().empty());
    EXPECT_EQ(packing.value(), CardValue());
  }
}

TEST(Packing, EndsWithAThousandDifferentSizes) {
  for (const bool two_dimensional : {false, true}) {
    std::vector<PackingItem> items;
    for (std::int32_t milli = 1; milli < 1000; ++milli) {
      items.push_back({milli, two_dimensional ? (milli * 7) % 1000 : 0, 1.0 + milli % 17});
    }
    const Packing packing = solve(items, two_dimensional);
    EXPECT_EQ(packing.items().size(), kMostItems);
    for (const auto& item : packing.items()) EXPECT_GE(item.demand, 15.0) << "the most demanded";
    EXPECT_DOUBLE_EQ(packing.value().at(1000), 1.0);
    for (const double price : packing.prices()) {
      EXPECT_GE(price, 0.0);
      EXPECT_LE(price, 1.0 + kClose);
    }
  }
}

TEST(Packing, EndsWithSizesThatAreHardToPack) {
  std::vector<PackingItem> items;  // no two patterns fill a card equally
  for (std::int32_t i = 0; i < 64; ++i) items.push_back({101 + 14 * i, 0, std::pow(1.7, i % 20)});
  const Packing packing = solve(items, false);
  double volume = 0;
  for (const auto& item : packing.items()) volume += item.demand * item.milli / 1000.0;
  EXPECT_GE(objective(packing), 0.99 * volume);
}

TEST(CardValue, OfNothingKnownIsAWholeCardOrNothing) {
  const CardValue value;
  EXPECT_EQ(value.at(0), 0.0);
  EXPECT_EQ(value.at(999), 0.0);
  EXPECT_EQ(value.at(1000), 1.0);
  EXPECT_FALSE(value.two_dimensional());
}

TEST(CardValue, IsWhatTheRestStillHolds) {
  const CardValue value = solve({{810, 0, 5}, {470, 0, 5}}, false).value();
  for (const auto& [milli, worth] : {std::pair{0, 0.0},
                                     {469, 0.0},
                                     {470, 0.5},
                                     {809, 0.5},
                                     {810, 1.0},
                                     {940, 1.0},
                                     {1000, 1.0}}) {
    EXPECT_NEAR(value.at(milli), worth, kClose) << milli;
  }
}

TEST(CardValue, InTwoDimensionsNeedsBoth) {
  const CardValue value = solve({{500, 500, 5}}, true).value();
  ASSERT_TRUE(value.two_dimensional());
  EXPECT_NEAR(value.at(1000, 1000), 1.0, kClose);
  EXPECT_NEAR(value.at(1000, 500), 0.5, kClose);
  EXPECT_NEAR(value.at(500, 1000), 0.5, kClose);
  EXPECT_NEAR(value.at(499, 1000), 0.0, kClose);
  EXPECT_NEAR(value.at(1000, 0), 0.0, kClose);
  EXPECT_NEAR(value.at(600), 0.5, kClose) << "with all the memory";
}

// ---- properties ---------------------------------------------------------------------------------

using Draw = std::tuple<std::uint8_t, std::uint8_t, std::uint8_t>;

// Up to `most` different items, each at least 260 in some dimension, so that few patterns exist.
std::vector<PackingItem> items_of(const std::vector<Draw>& draws, std::size_t most,
                                  bool two_dimensional) {
  std::vector<PackingItem> items;
  for (const auto& [m, g, d] : draws) {
    PackingItem item{260 + m % 74 * 10, 0, 0.25 + d % 32};
    if (two_dimensional) {
      item.memory_permille = g % 3 == 0 ? 0 : 260 + g % 38 * 20;
      if (g % 5 == 1 && item.memory_permille > 0) item.milli = 0;
    }
    const bool known = std::any_of(items.begin(), items.end(), [&](const PackingItem& other) {
      return other.milli == item.milli && other.memory_permille == item.memory_permille;
    });
    if (!known && items.size() < most) items.push_back(item);
  }
  return items;
}

void check_prices(const std::vector<PackingItem>& items, bool two_dimensional) {
  const Packing packing = solve(items, two_dimensional);
  RC_ASSERT(packing.items().size() <= items.size());
  for (const auto& pattern : all_patterns(packing.items(), two_dimensional)) {
    RC_ASSERT(worth(pattern, packing.prices()) <= 1.0 + kClose);
  }
  double milli = 0;
  double memory = 0;
  for (const auto& item : items) {
    milli += item.demand * item.milli / 1000;
    memory += item.demand * item.memory_permille / 1000;
  }
  RC_ASSERT(objective(packing) >= std::max(milli, memory) - kClose);
  if (packing.items().size() > 3) return;
  RC_ASSERT(std::abs(objective(packing) - fewest_cards(packing.items(), two_dimensional)) < 1e-5);
}

RC_GTEST_PROP(PackingProperty, PricesAreOptimalInOneDimension, (const std::vector<Draw>& draws)) {
  check_prices(items_of(draws, 1 + draws.size() % 5, false), false);
}

RC_GTEST_PROP(PackingProperty, PricesAreOptimalInTwoDimensions, (const std::vector<Draw>& draws)) {
  check_prices(items_of(draws, 1 + draws.size() % 4, true), true);
}

RC_GTEST_PROP(PackingProperty, ValueGrowsWithWhatIsLeft,
              (const std::vector<Draw>& draws, bool two_dimensional)) {
  const auto items = items_of(draws, 20, two_dimensional);
  const Packing packing = solve(items, two_dimensional);
  const CardValue value = packing.value();
  RC_ASSERT(value.at(0) <= value.at(1000));
  RC_ASSERT(value.at(1000) == 1.0);
  for (std::int32_t milli = 1; milli <= 1000; ++milli) {
    RC_ASSERT(value.at(milli - 1) <= value.at(milli));
  }
  RC_ASSERT(value.two_dimensional() == (two_dimensional && !items.empty()));
  if (!value.two_dimensional()) return;
  for (std::int32_t milli = 0; milli <= 1000; milli += 20) {
    for (std::int32_t memory = 20; memory <= 1000; memory += 20) {
      RC_ASSERT(value.at(milli, memory - 20) <= value.at(milli, memory));
      RC_ASSERT(value.at(memory - 20, milli) <= value.at(memory, milli));
    }
  }
  RC_ASSERT(value.at(1000, 1000) == 1.0);
}

}  // namespace
}  // namespace stowage::core
