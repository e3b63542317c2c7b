// The real costs of share sizes: the dual prices of packing them into cards.
//
// The packing problem "serve the demand for every size with the fewest cards", relaxed to a linear
// program, has one dual price per size, in cards: the cost of one more pod of that size at the
// optimum. With sizes 810 and 470 (and nothing small), a pod of 810 milli costs a whole card and
// one of 470 half a card, despite their milli. Solved by column generation: the master problem
// keeps one pattern (a way to fill a card) per size; pricing is a knapsack over the card.
//
// One or two dimensions: milli on a grid as fine as the sizes need, and memory in 50 steps.
// Resumable: step() does one bounded piece of work, so learning never blocks decisions.
#pragma once

#include <cstdint>
#include <vector>

namespace stowage::core {

// A share size and its demand. In one dimension memory is 0.
struct PackingItem {
  std::int32_t milli = 0;
  std::int32_t memory_permille = 0;
  double demand = 0;
};

// The value of the free part of a card: the most valuable set of shares that it can hold, in cards.
class CardValue {
 public:
  CardValue();  // without demand: a whole card is worth 1, anything less 0

  [[nodiscard]] bool two_dimensional() const { return columns_ > 1; }
  [[nodiscard]] double at(std::int32_t milli) const {
    return line_[static_cast<std::size_t>(milli)];
  }
  [[nodiscard]] double at(std::int32_t milli, std::int32_t memory_permille) const {
    const auto row = static_cast<std::size_t>(milli * kMemorySteps / 1000);
    const auto column = static_cast<std::size_t>(memory_permille * kMemorySteps / 1000);
    return table_[row * (kMemorySteps + 1) + column];
  }
  friend bool operator==(const CardValue&, const CardValue&) = default;
  // For record/: writes or reads the tables. Tables that were read are used only if complete.
  template <typename Archive>
  void archive(Archive& a) {
    a(line_, table_, columns_);
    constexpr auto kSide = static_cast<std::size_t>(kMemorySteps) + 1;
    if (line_.size() != 1001 || (columns_ > 1 && table_.size() != kSide * kSide))
      *this = CardValue();
  }

  static constexpr std::int32_t kMemorySteps = 50;

 private:
  friend class Packing;
  std::vector<double> line_;   // by milli, 0..1000
  std::vector<double> table_;  // by grid steps of milli and memory
  std::size_t columns_ = 1;
};

class Packing {
 public:
  // Starts with this demand, from the previous solution if possible. Sizes that are zero in every
  // dimension, larger than a card, or without demand are ignored.
  void start(std::vector<PackingItem> items, bool two_dimensional);
  // One round of pricing. True when the prices are final.
  bool step();
  [[nodiscard]] bool running() const { return running_; }

  [[nodiscard]] const std::vector<PackingItem>& items() const { return items_; }
  [[nodiscard]] const std::vector<double>& prices() const { return prices_; }
  // Requires: !running().
  [[nodiscard]] CardValue value() const;

 private:
  struct Cell {  // an item on the knapsack's grid
    std::size_t milli;
    std::size_t memory;
  };
  void make_grid();
  void cold_start();
  bool warm_start(const std::vector<PackingItem>& before);
  void compute_prices();
  double knapsack(std::vector<double>& pattern);
  void fill_table();
  bool enter(const std::vector<double>& column, double cost);
  void finish(double best);

  bool two_dimensional_ = false;
  bool running_ = false;
  int rounds_ = 0;
  std::vector<PackingItem> items_;
  std::vector<Cell> cells_;
  std::size_t rows_ = 0;     // knapsack grid: milli
  std::size_t columns_ = 0;  // knapsack grid: memory
  std::size_t step_milli_ = 1;
  std::vector<double> inverse_;  // of the basis, row by row
  std::vector<double> cost_;     // of the basis columns: 1 a pattern, 0 a surplus
  std::vector<double> level_;    // how often each pattern of the basis is used
  std::vector<double> prices_;
  std::vector<double> table_;  // of the knapsack
};

}  // namespace stowage::core
