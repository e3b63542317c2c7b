#include "core/ledger/node_order.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace stowage::core {
namespace {

constexpr std::uint32_t kRankGap = 4096;  // space for about a dozen names between two ranks

}  // namespace

void NodeOrder::add(const std::string& name, NodeIndex node) {
  if (ranks_.size() <= node.at()) {
    ranks_.resize(node.at() + 1);
    given_.resize(node.at() + 1);
  }
  rank_by_name(by_name_.emplace(name, node).first);
  ++version_;
}

void NodeOrder::remove(const std::string& name) {
  const auto self = by_name_.find(name);
  given_[self->second.at()] = false;
  by_name_.erase(self);
  ++version_;
}

void NodeOrder::set_rank(const std::string& name, std::optional<std::uint32_t> rank) {
  const auto self = by_name_.find(name);
  const std::size_t at = self->second.at();
  const bool was_given = given_[at];
  given_[at] = rank.has_value();
  if (rank ? ranks_[at] == *rank : !was_given) return;
  if (rank) {
    ranks_[at] = *rank;
  } else {
    rank_by_name(self);
  }
  ++version_;
}

void NodeOrder::rank_by_name(ByName::const_iterator self) {
  const std::size_t at = self->second.at();
  const auto next = std::next(self);
  const std::uint32_t low = self == by_name_.begin() ? 0 : ranks_[std::prev(self)->second.at()];
  if (next == by_name_.end()) {
    if (low > std::numeric_limits<std::uint32_t>::max() - kRankGap) return relabel();
    ranks_[at] = low + kRankGap;
    return;
  }
  const std::uint32_t high = ranks_[next->second.at()];
  if (high <= low + 1) return relabel();
  ranks_[at] = low + (high - low) / 2;
}

void NodeOrder::relabel() {
  std::uint32_t rank = 0;
  for (const auto& [name, node] : by_name_) {
    if (given_[node.at()]) continue;
    rank += kRankGap;
    ranks_[node.at()] = rank;
  }
  ++version_;
}

}  // namespace stowage::core
