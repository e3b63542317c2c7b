// The pods on nodes as other pods' rules see them: labels, anti-affinity terms, host ports. Makes
// filters that tell on which nodes a pod may run beside them.
//
// A pod that comes or leaves costs O(its own rules): counters are made when first asked for and
// follow a log of changes. Memory is bounded by the pods on nodes, not by those that were seen:
// counters have a budget, the log has a limit, and sets, terms and topology keys that are out of
// use are freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/affinity/affinity_filter.h"
#include "core/affinity/anti_affinity_terms.h"
#include "core/affinity/anti_term_matches.h"
#include "core/affinity/counter_cache.h"
#include "core/affinity/host_port_table.h"
#include "core/affinity/label_sets.h"
#include "core/affinity/namespace_labels.h"
#include "core/affinity/node_pod_counts.h"
#include "core/affinity/pod_change_log.h"
#include "core/affinity/topology_domains.h"
#include "core/ledger/ledger.h"
#include "core/model/ids.h"
#include "core/model/pod.h"
#include "core/model/storage.h"

namespace stowage::core {

// What the index keeps about one pod.
struct AffinityPod {
  NodeIndex node;
  LabelSetIndex set;
  bool leaving = false;
  bool host_ports = false;  // it has some
  std::vector<AntiTermIndex> anti_terms;

  [[nodiscard]] bool constrains_others() const { return host_ports || !anti_terms.empty(); }
};

class AffinityIndex {
 public:
  explicit AffinityIndex(const Ledger& ledger);
  AffinityIndex(const AffinityIndex&) = delete;
  AffinityIndex& operator=(const AffinityIndex&) = delete;

  // Pods on nodes. Adding a pod that is there replaces it.
  void add(PodIndex pod, NodeIndex node, const PodSpec& spec);
  void remove(PodIndex pod);
  // Logs that the pod left and came back, so that affected_since() is true for pods that wait for
  // it to leave.
  void touch(PodIndex pod);

  [[nodiscard]] bool contains(PodIndex pod) const { return find(pod) != nullptr; }
  // Null if the pod is not there.
  [[nodiscard]] const AffinityPod* find(PodIndex pod) const {
    return pod.at() < pods_.size() ? pods_[pod.at()].get() : nullptr;
  }
  [[nodiscard]] const Labels* labels_of(PodIndex pod) const;

  // Nodes came or left, or their labels or taints changed.
  void nodes_changed() { domains_.nodes_changed(); }
  void set_namespace(const Namespace& ns) { namespaces_.set(ns); }
  void remove_namespace(const std::string& name) { namespaces_.remove(name); }

  [[nodiscard]] AffinityFilter filter(const PodSpec& pod);

  // Changes so far.
  [[nodiscard]] std::uint64_t changes() const { return log_.end(); }
  // True if a change after the first `from` ones may change what filter() says of the pod, or if
  // there are more than `max_changes` of them.
  [[nodiscard]] bool affected_since(const PodSpec& pod, std::uint64_t from,
                                    std::int64_t max_changes = 1024) const;

  // Numbers of what is kept besides the pods.
  struct Sizes {
    std::size_t counters = 0;
    std::size_t counter_bytes = 0;
    std::size_t domains = 0;     // topology keys
    std::size_t sets = 0;        // with and without pods
    std::size_t anti_terms = 0;  // with and without pods
    std::size_t shared = 0;      // term lists and node lists that counters share
  };
  [[nodiscard]] Sizes sizes() const;
  // Recounts everything; one line per difference. For tests.
  [[nodiscard]] std::vector<std::string> audit();

 private:
  void count(const AffinityPod& pod, std::int32_t delta);
  void log(const AffinityPod& pod, std::int8_t delta);
  void free_unused();

  TopologyDomains domains_;
  NamespaceLabels namespaces_;
  LabelSets sets_;
  NodePodCounts node_counts_;
  PodChangeLog log_;
  HostPortTable ports_;
  AntiAffinityTerms anti_terms_;
  AntiTermMatches anti_matches_;
  CounterCache counters_;
  std::vector<std::unique_ptr<AffinityPod>> pods_;
};

}  // namespace stowage::core
