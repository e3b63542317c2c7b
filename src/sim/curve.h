// The published measure of a placement policy: how many percent of all GPUs are allocated once
// pods worth so many percent have arrived.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace stowage::sim {

class AllocationCurve {
 public:
  // Requires: capacity > 0. Amounts are in any one unit.
  explicit AllocationCurve(std::int64_t capacity);

  // After every pod, placed or not: what has arrived and what is allocated so far.
  void add(std::int64_t arrived, std::int64_t allocated);

  // Mean of the allocated percent over all events whose arrived percent rounds to `percent`; unset
  // where there is none. Events beyond 1000 % are not kept.
  [[nodiscard]] std::optional<double> at(int percent) const;

  // Greatest percent that has a value, or -1.
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
