#include "core/price/packing.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace stowage::core {
namespace {

constexpr double kTolerance = 1e-9;
constexpr double kRounding = 1e-12;  // of a sum of prices that fill a card
constexpr std::size_t kCardMilli = 1000;
constexpr std::size_t kMaxItems =
    128;                            // only the most requested sizes, to bound the work of one step
constexpr int kRoundsPerItem = 40;  // after that the prices are scaled to be feasible and used

// Rounds sizes up to the grid and merges equal ones.
void merge_on_grid(std::vector<PackingItem>& items) {
  constexpr std::int32_t kStep = 1000 / CardValue::kMemorySteps;
  const auto up = [](std::int32_t permille) { return (permille + kStep - 1) / kStep * kStep; };
  std::map<std::pair<std::int32_t, std::int32_t>, double> merged;
  for (const auto& item : items) {
    merged[{up(item.milli), up(item.memory_permille)}] += item.demand;
  }
  items.clear();
  for (const auto& [size, demand] : merged) items.push_back({size.first, size.second, demand});
}

}  // namespace

CardValue::CardValue() : line_(kCardMilli + 1, 0.0) { line_.back() = 1.0; }

void Packing::start(std::vector<PackingItem> items, bool two_dimensional) {
  std::erase_if(items, [&](const PackingItem& item) {
    const bool nothing = item.milli == 0 && (!two_dimensional || item.memory_permille == 0);
    return nothing || item.demand <= 0 || item.milli >= static_cast<std::int32_t>(kCardMilli) ||
           item.memory_permille > 1000 || item.milli < 0 || item.memory_permille < 0;
  });
  if (two_dimensional) merge_on_grid(items);
  if (items.size() > kMaxItems) {
    std::stable_sort(items.begin(), items.end(), [](const PackingItem& a, const PackingItem& b) {
      return a.demand > b.demand;
    });
    items.resize(kMaxItems);
  }
  std::sort(items.begin(), items.end(), [](const PackingItem& a, const PackingItem& b) {
    return a.milli != b.milli ? a.milli > b.milli : a.memory_permille > b.memory_permille;
  });
  const auto before = std::exchange(items_, std::move(items));
  const bool same_kind = two_dimensional == std::exchange(two_dimensional_, two_dimensional);
  rounds_ = 0;
  running_ = !items_.empty();
  make_grid();
  if (!running_) {
    prices_.clear();
    return;
  }
  if (!same_kind || !warm_start(before)) cold_start();
}

void Packing::make_grid() {
  cells_.clear();
  if (two_dimensional_) {
    constexpr auto kSteps = static_cast<std::size_t>(CardValue::kMemorySteps);
    rows_ = columns_ = kSteps + 1;
    const auto up = [](std::int32_t permille) {
      return (static_cast<std::size_t>(permille) * kSteps + kCardMilli - 1) / kCardMilli;
    };
    for (const auto& item : items_) cells_.push_back({up(item.milli), up(item.memory_permille)});
    return;
  }
  step_milli_ = kCardMilli;
  for (const auto& item : items_) {
    step_milli_ = std::gcd(step_milli_, static_cast<std::size_t>(item.milli));
  }
  rows_ = kCardMilli / step_milli_ + 1;
  columns_ = 1;
  for (const auto& item : items_) {
    cells_.push_back({static_cast<std::size_t>(item.milli) / step_milli_, 0});
  }
}

// One pattern per size: as many as fit into a card.
void Packing::cold_start() {
  const std::size_t n = items_.size();
  inverse_.assign(n * n, 0.0);
  cost_.assign(n, 1.0);
  level_.assign(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t fits = kCardMilli;
    if (cells_[i].milli > 0) fits = std::min(fits, (rows_ - 1) / cells_[i].milli);
    if (cells_[i].memory > 0) fits = std::min(fits, (columns_ - 1) / cells_[i].memory);
    inverse_[i * n + i] = 1.0 / static_cast<double>(fits);
    level_[i] = items_[i].demand / static_cast<double>(fits);
  }
}

// The old basis can be used if the sizes are the same and it meets the new demand.
bool Packing::warm_start(const std::vector<PackingItem>& before) {
  const std::size_t n = items_.size();
  if (before.size() != n || inverse_.size() != n * n) return false;
  for (std::size_t i = 0; i < n; ++i) {
    if (before[i].milli != items_[i].milli ||
        before[i].memory_permille != items_[i].memory_permille) {
      return false;
    }
  }
  std::vector<double> level(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) level[i] += inverse_[i * n + j] * items_[j].demand;
    if (level[i] < -kTolerance) return false;
  }
  level_ = std::move(level);
  return true;
}

void Packing::compute_prices() {
  const std::size_t n = items_.size();
  prices_.assign(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    if (cost_[i] == 0.0) continue;
    for (std::size_t j = 0; j < n; ++j) prices_[j] += inverse_[i * n + j];
  }
}

// table_[r][m] = the most valuable set of shares that fits into r by m steps.
void Packing::fill_table() {
  table_.assign(rows_ * columns_, 0.0);
  double* table = table_.data();
  const std::size_t width = columns_;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const double price = prices_[i];
    if (price <= 0) continue;
    const auto [milli, memory] = cells_[i];
    const std::size_t back = milli * width + memory;
    for (std::size_t r = milli; r < rows_; ++r) {
      double* row = table + r * width;
      for (std::size_t m = memory; m < width; ++m) {
        row[m] = std::max(row[m], (row + m)[-static_cast<std::ptrdiff_t>(back)] + price);
      }
    }
  }
}

double Packing::knapsack(std::vector<double>& pattern) {
  fill_table();
  pattern.assign(items_.size(), 0.0);
  std::size_t r = rows_ - 1;
  std::size_t m = columns_ - 1;
  const double best = table_[r * columns_ + m];
  for (std::size_t i = items_.size(); i-- > 0;) {
    const double price = prices_[i];
    if (price <= 0) continue;
    const auto [milli, memory] = cells_[i];
    while (r >= milli && m >= memory) {
      const double here = table_[r * columns_ + m];
      if (table_[(r - milli) * columns_ + (m - memory)] + price < here - kRounding) break;
      r -= milli;
      m -= memory;
      pattern[i] += 1.0;
    }
  }
  return best;
}

bool Packing::enter(const std::vector<double>& column, double cost) {
  const std::size_t n = items_.size();
  std::vector<double> direction(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) direction[i] += inverse_[i * n + j] * column[j];
  }
  std::size_t leave = n;
  double ratio = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (direction[i] <= kTolerance) continue;
    const double r = std::max(0.0, level_[i]) / direction[i];
    if (leave == n || r < ratio) {
      leave = i;
      ratio = r;
    }
  }
  if (leave == n) return false;
  const double pivot = direction[leave];
  double* pivot_row = inverse_.data() + leave * n;
  for (std::size_t j = 0; j < n; ++j) pivot_row[j] /= pivot;
  level_[leave] = ratio;
  for (std::size_t i = 0; i < n; ++i) {
    if (i == leave || direction[i] == 0.0) continue;
    double* row = inverse_.data() + i * n;
    for (std::size_t j = 0; j < n; ++j) row[j] -= direction[i] * pivot_row[j];
    level_[i] -= direction[i] * ratio;
  }
  cost_[leave] = cost;
  return true;
}

void Packing::finish(double best) {
  running_ = false;
  for (double& price : prices_) {
    price = std::max(0.0, price);
    if (best > 1.0) price /= best;  // stopped early: scaling makes the prices feasible
  }
}

bool Packing::step() {
  if (!running_) return true;
  compute_prices();
  std::vector<double> column(items_.size(), 0.0);
  const auto cheapest = std::min_element(prices_.begin(), prices_.end());
  if (*cheapest <
      -kTolerance) {  // the basis packs more than the demand of this size: allow a surplus
    column[static_cast<std::size_t>(cheapest - prices_.begin())] = -1.0;
    if (enter(column, 0.0) && ++rounds_ < kRoundsPerItem * static_cast<int>(items_.size())) {
      return false;
    }
  }
  const double best = knapsack(column);
  const bool limit = ++rounds_ > kRoundsPerItem * static_cast<int>(items_.size());
  if (best <= 1.0 + kTolerance || limit || !enter(column, 1.0)) {
    finish(best);
    return true;
  }
  return false;
}

CardValue Packing::value() const {
  STOWAGE_CHECK(!running_);
  CardValue value;
  if (items_.empty()) return value;
  Packing last = *this;  // for the table of the final prices
  last.fill_table();
  const double top = std::max(1e-12, last.table_.back());
  if (two_dimensional_) {
    value.columns_ = columns_;
    value.table_ = std::move(last.table_);
    for (double& v : value.table_) v = std::min(1.0, v / top);
  }
  for (std::size_t milli = 0; milli <= kCardMilli; ++milli) {
    value.line_[milli] =
        two_dimensional_ ? value.table_[milli * (rows_ - 1) / kCardMilli * columns_ + columns_ - 1]
                         : std::min(1.0, last.table_[milli / step_milli_] / top);
  }
  return value;
}

}  // namespace stowage::core
