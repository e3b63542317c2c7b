// The published measure of a placement policy: the percentage of allocated GPUs after pods with a
// given percentage of demand have arrived.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace stowage::sim {

class AllocationCurve {
 public:
  // Requires: capacity > 0. All amounts use the same unit.
  explicit AllocationCurve(std::int64_t capacity);

  // Call it after every pod, placed or not, with the totals of arrived and allocated amounts.
  void add(std::int64_t arrived, std::int64_t allocated);

  // Mean of the allocated percentage over all events whose arrived percentage rounds to `percent`;
  // unset if there are none. Events beyond 1000 % are not kept.
  [[nodiscard]] std::optional<double> at(int percent) const;

  // Largest percentage that has a value, or -1.
  [[nodiscard]] int last() const;

 private:
  struct Bucket {
    double sum = 0;
    std::int64_t events = 0;
  };

  std::int64_t capacity_;
  std::vector<Bucket> buckets_;  // by percent
};

}  // namespace stowage::sim
