#include "core/affinity/topology_domains.h"

namespace stowage::core {

TopologyKeyIndex TopologyDomains::acquire(const std::string& key) {
  const auto [at, fresh] = by_key_.try_emplace(key);
  if (fresh && free_.empty()) {
    at->second = TopologyKeyIndex(domains_.size());
    domains_.emplace_back();
  } else if (fresh) {
    at->second = free_.back();
    free_.pop_back();
  }
  NodeDomains& domains = domains_[at->second.at()];
  if (fresh) domains.key = key;
  ++domains.users;
  return at->second;
}

void TopologyDomains::release(TopologyKeyIndex index) {
  NodeDomains& domains = domains_[index.at()];
  if (--domains.users > 0) return;
  by_key_.erase(domains.key);
  domains = NodeDomains{};
  free_.push_back(index);
}

bool TopologyDomains::any_node_has(const std::string& key) {
  if (label_keys_version_ != version_) {
    label_keys_version_ = version_;
    label_keys_.clear();
    for (std::size_t n = 0; n < nodes_.rows(); ++n) {
      if (!nodes_.present(NodeIndex(n))) continue;
      for (const auto& [label, value] : nodes_.spec(NodeIndex(n)).labels) {
        label_keys_.insert(label);
      }
    }
  }
  return label_keys_.contains(key);
}

const NodeDomains& TopologyDomains::refresh(TopologyKeyIndex index) {
  NodeDomains& domains = domains_[index.at()];
  if (domains.version == version_) return domains;
  domains.version = version_;
  domains.count = 0;
  if (!any_node_has(domains.key)) {
    domains.of_node = {};
    return domains;
  }
  domains.of_node.assign(nodes_.rows(), DomainIndex{});
  std::map<std::string, DomainIndex> by_value;
  for (std::size_t n = 0; n < nodes_.rows(); ++n) {
    if (!nodes_.present(NodeIndex(n))) continue;
    const Labels& labels = nodes_.spec(NodeIndex(n)).labels;
    const auto label = labels.find(domains.key);
    if (label == labels.end()) continue;
    const DomainIndex next(by_value.size());
    domains.of_node[n] = by_value.emplace(label->second, next).first->second;
  }
  domains.count = by_value.size();
  return domains;
}

}  // namespace stowage::core
