#include "core/affinity/domain_counts.h"

#include <algorithm>

namespace stowage::core {

void DomainCounts::reset(std::size_t domains) {
  domains_ = domains;
  sparse_.clear();
  dense_ = {};
}

std::int32_t DomainCounts::sparse_count(DomainIndex domain) const {
  const auto at = std::lower_bound(sparse_.begin(), sparse_.end(), std::pair(domain, INT32_MIN));
  return at != sparse_.end() && at->first == domain ? at->second : 0;
}

void DomainCounts::add(DomainIndex domain, std::int32_t pods) {
  constexpr std::size_t kDenseFrom = 16;  // one in so many domains
  if (!dense_.empty()) {
    dense_[domain.at()] += pods;
    return;
  }
  const auto at = std::lower_bound(sparse_.begin(), sparse_.end(), std::pair(domain, INT32_MIN));
  if (at != sparse_.end() && at->first == domain) {
    at->second += pods;
    if (at->second == 0) sparse_.erase(at);
    return;
  }
  sparse_.insert(at, {domain, pods});
  if (sparse_.size() * kDenseFrom < domains_) return;
  dense_.assign(domains_, 0);
  for (const auto& [used, count] : sparse_) dense_[used.at()] = count;
  sparse_ = {};
}

}  // namespace stowage::core
