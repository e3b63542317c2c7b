#include "core/affinity/anti_affinity_terms.h"

#include <iterator>
#include <utility>

namespace stowage::core {

AntiTermIndex AntiAffinityTerms::intern(const PodTerm& term) {
  std::string key;
  append_key(term, key);
  const auto known = by_key_.find(key);
  if (known != by_key_.end()) return known->second;
  AntiTermIndex index(terms_.size());
  if (free_.empty()) {
    terms_.emplace_back();
  } else {
    index = *free_.begin();
    free_.erase(free_.begin());
    ++version_;
  }
  AntiTerm& added = terms_[index.at()];
  added.term = term;
  added.key = key;
  added.topology = domains_.acquire(term.topology_key);
  by_key_.emplace(std::move(key), index);
  return index;
}

void AntiAffinityTerms::add_pods(AntiTermIndex index, NodeIndex node, std::int32_t delta) {
  AntiTerm& term = terms_[index.at()];
  if (term.by_node.empty()) unused_.erase(index);
  std::int32_t& pods = term.by_node[node.at()];
  pods += delta;
  if (pods == 0) term.by_node.erase(node.at());
  if (term.by_node.empty()) unused_.insert(index);
  if (term.version != domains_.version()) return;  // the next refresh() counts again
  const DomainIndex domain = domains_[term.topology].of(node.at());
  if (domain.valid()) term.by_domain.add(domain, delta);
}

void AntiAffinityTerms::refresh(AntiTermIndex index) {
  AntiTerm& term = terms_[index.at()];
  if (term.version == domains_.version()) return;
  const NodeDomains& domains = domains_.refresh(term.topology);
  term.version = domains_.version();
  term.by_domain.reset(domains.count);
  for (const auto& [node, pods] : term.by_node) {
    const DomainIndex domain = domains.of(node);
    if (domain.valid()) term.by_domain.add(domain, pods);
  }
}

void AntiAffinityTerms::free_some() {
  while (unused_.size() > kMaxUnused) {
    const AntiTermIndex index = *unused_.begin();
    unused_.erase(unused_.begin());
    AntiTerm& term = terms_[index.at()];
    by_key_.erase(term.key);
    domains_.release(term.topology);
    term = AntiTerm{};
    free_.insert(index);
  }
  drop_free_tail();
}

// Only free_some() makes the last index free, so there is nothing to drop at other times.
void AntiAffinityTerms::drop_free_tail() {
  const auto last_is_free = [this] {
    return !free_.empty() && std::prev(free_.end())->at() + 1 == terms_.size();
  };
  if (!last_is_free()) return;
  while (last_is_free()) {
    free_.erase(std::prev(free_.end()));
    terms_.pop_back();
  }
  if (terms_.capacity() > 4 * terms_.size() + kMaxUnused) terms_.shrink_to_fit();
  ++version_;
}

}  // namespace stowage::core
