// Pods by topology domain where most domains have none: a sorted list of the domains in use, which
// becomes an array once one in 16 domains is in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/affinity/topology_domains.h"

namespace stowage::core {

class DomainCounts {
 public:
  // Sets every count to 0. add() and count() take domains below `domains`.
  void reset(std::size_t domains);
  void add(DomainIndex domain, std::int32_t pods);
  [[nodiscard]] std::int32_t count(DomainIndex domain) const {
    return dense_.empty() ? sparse_count(domain) : dense_[domain.at()];
  }

 private:
  [[nodiscard]] std::int32_t sparse_count(DomainIndex domain) const;
  std::size_t domains_ = 0;
  std::vector<std::pair<DomainIndex, std::int32_t>> sparse_;  // sorted
  std::vector<std::int32_t> dense_;                           // empty: sparse_ is used
};

}  // namespace stowage::core
