#include "core/affinity/topology_counter.h"

#include <algorithm>
#include <utility>

namespace stowage::core {

TopologyCounter::TopologyCounter(const Sources& sources, Criteria criteria)
    : sources_(&sources), criteria_(std::move(criteria)) {}

bool TopologyCounter::selects(LabelSetIndex index) const {
  if (selected_.size() <= index.at()) selected_.resize(sources_->sets.rows(), Selected::unknown);
  Selected& selected = selected_[index.at()];
  if (selected == Selected::unknown) {
    const LabelSet& set = sources_->sets[index];
    const auto& all = criteria_.terms->all;
    const bool yes = std::all_of(all.begin(), all.end(), [&](const PodTerm& term) {
      return sources_->namespaces.selects(term, set.ns, set.labels);
    });
    selected = yes ? Selected::yes : Selected::no;
  }
  return selected == Selected::yes;
}

void TopologyCounter::recount() {
  const NodeDomains& domains = sources_->domains.refresh(criteria_.topology);
  nodes_version_ = sources_->domains.version();
  if (namespaces_version_ != sources_->namespaces.version()) selected_.clear();
  namespaces_version_ = sources_->namespaces.version();
  position_ = sources_->log.end();
  total_ = 0;
  pods_.assign(domains.count, 0);
  nodes_.assign(domains.count, 0);
  if (criteria_.eligible) criteria_.eligible->refresh(sources_->nodes, nodes_version_);
  for (std::size_t n = 0; n < domains.of_node.size(); ++n) {
    const DomainIndex domain = domains.of_node[n];
    if (!domain.valid() || !counts_node(n)) continue;
    ++nodes_[domain.at()];
    for (const SetCount& here : sources_->pods.on(n)) {
      if (!selects(here.set)) continue;
      const std::int64_t pods = here.pods - (criteria_.skip_leaving ? here.leaving : 0);
      pods_[domain.at()] += pods;
      total_ += pods;
    }
  }
}

void TopologyCounter::update() {
  const PodChangeLog& log = sources_->log;
  if (nodes_version_ != sources_->domains.version() ||
      namespaces_version_ != sources_->namespaces.version() || position_ < log.start()) {
    return recount();
  }
  const NodeDomains& domains = sources_->domains[criteria_.topology];
  if (domains.count == 0) position_ = log.end();
  for (; position_ < log.end(); ++position_) {
    const PodChange& change = log.at(position_);
    const std::size_t node = change.node.at();
    const DomainIndex domain = domains.of(node);
    if (!domain.valid() || !selects(change.set) || !counts_node(node)) continue;
    const std::int64_t pods = change.pods - (criteria_.skip_leaving ? change.leaving : 0);
    pods_[domain.at()] += pods;
    total_ += pods;
  }
}

bool TopologyCounter::verify() const {
  TopologyCounter anew = *this;
  anew.forget_sets();
  anew.recount();
  return anew.pods_ == pods_ && anew.total_ == total_;
}

std::size_t TopologyCounter::bytes() const {
  return selected_.capacity() + pods_.capacity() * sizeof(pods_[0]) +
         nodes_.capacity() * sizeof(nodes_[0]);
}

}  // namespace stowage::core
