// Counts the pods that meet some criteria by topology domain. update() reads the change log from
// where it stopped, so a pod that comes or leaves costs nothing here until the next update().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/affinity/counter_criteria.h"
#include "core/affinity/label_sets.h"
#include "core/affinity/namespace_labels.h"
#include "core/affinity/node_pod_counts.h"
#include "core/affinity/pod_change_log.h"
#include "core/affinity/topology_domains.h"
#include "core/ledger/node_table.h"

namespace stowage::core {

class TopologyCounter {
 public:
  // What is counted; it outlives the counter.
  struct Sources {
    const NodeTable& nodes;
    TopologyDomains& domains;
    const NamespaceLabels& namespaces;
    const LabelSets& sets;
    const NodePodCounts& pods;
    const PodChangeLog& log;
  };
  struct Criteria {
    std::shared_ptr<const TermList> terms;    // a pod counts if all of these select it
    std::shared_ptr<EligibleNodes> eligible;  // null: all nodes
    TopologyKeyIndex topology;
    bool skip_leaving = false;  // pods that are leaving do not count
  };
  // Counts nothing before the first update().
  TopologyCounter(const Sources& sources, Criteria criteria);

  // Brings the counts up to date.
  void update();
  // Requires: called whenever sets are freed.
  void forget_sets() { selected_.clear(); }
  // True if a recount gives the same. Requires: up to date.
  [[nodiscard]] bool verify() const;

  // Counts, as of the last update().
  [[nodiscard]] std::size_t domains() const { return pods_.size(); }
  [[nodiscard]] std::int64_t pods(DomainIndex domain) const { return pods_[domain.at()]; }
  [[nodiscard]] std::int32_t nodes(DomainIndex domain) const { return nodes_[domain.at()]; }
  [[nodiscard]] std::int64_t total() const { return total_; }  // pods of all domains

  // Do the terms select the pods of this set, and is this node eligible?
  [[nodiscard]] bool selects(LabelSetIndex set) const;
  [[nodiscard]] bool counts_node(std::size_t node) const {
    return !criteria_.eligible || criteria_.eligible->contains(node);
  }
  [[nodiscard]] TopologyKeyIndex topology() const { return criteria_.topology; }
  [[nodiscard]] bool skip_leaving() const { return criteria_.skip_leaving; }
  // Memory of the counts, without the counter itself.
  [[nodiscard]] std::size_t bytes() const;

 private:
  void recount();

  enum class Selected : std::int8_t { unknown, no, yes };

  const Sources* sources_;
  Criteria criteria_;
  mutable std::vector<Selected> selected_;  // by set: what selects() has found
  std::vector<std::int64_t> pods_;          // by domain
  std::vector<std::int32_t> nodes_;         // by domain: eligible nodes
  std::int64_t total_ = 0;
  std::uint64_t position_ = 0;  // in the log
  std::uint64_t nodes_version_ = 0;
  std::uint64_t namespaces_version_ = 0;
};

}  // namespace stowage::core
