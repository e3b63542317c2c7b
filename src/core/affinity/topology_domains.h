// The topology domains of nodes: for a topology key, nodes with an equal value of that label are in
// one domain. Keys are counted by their users and freed with the last one; domains are found when
// first asked for after nodes changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/strong_id.h"
#include "core/ledger/node_table.h"

namespace stowage::core {

using TopologyKeyIndex = base::StrongId<struct TopologyKeyTag>;
using DomainIndex = base::StrongId<struct DomainTag>;

// The domains of one topology key.
struct NodeDomains {
  std::string key;
  std::vector<DomainIndex> of_node;  // empty: no node has the label
  std::size_t count = 0;
  std::uint64_t version = 0;  // TopologyDomains::version() for which the domains were found
  std::size_t users = 0;

  // Invalid: the node does not have the label.
  [[nodiscard]] DomainIndex of(std::size_t node) const {
    return node < of_node.size() ? of_node[node] : DomainIndex{};
  }
};

class TopologyDomains {
 public:
  explicit TopologyDomains(const NodeTable& nodes) : nodes_(nodes) {}

  // Adds a user of the key. Requires, for each call: one call of release() later.
  [[nodiscard]] TopologyKeyIndex acquire(const std::string& key);
  void release(TopologyKeyIndex index);

  // The domains as the nodes are now.
  const NodeDomains& refresh(TopologyKeyIndex index);
  // The domains as of the last refresh().
  [[nodiscard]] const NodeDomains& operator[](TopologyKeyIndex index) const {
    return domains_[index.at()];
  }

  // Nodes came or left, or their labels or taints changed.
  void nodes_changed() { ++version_; }
  // Grows with nodes_changed(). Never 0.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] std::size_t size() const { return by_key_.size(); }  // keys in use

 private:
  [[nodiscard]] bool any_node_has(const std::string& key);

  const NodeTable& nodes_;
  std::vector<NodeDomains> domains_;
  std::vector<TopologyKeyIndex> free_;
  std::map<std::string, TopologyKeyIndex> by_key_;
  std::set<std::string, std::less<>> label_keys_;  // of all nodes
  std::uint64_t label_keys_version_ = 0;
  std::uint64_t version_ = 1;
};

}  // namespace stowage::core
