// One pod's rules about other pods, ready to be checked on many nodes: host ports, topology spread,
// affinity, its own anti-affinity and that of others. Valid until the index changes, or makes the
// next filter. Costs, to make: the changes since these rules were last asked about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/affinity/anti_affinity_terms.h"
#include "core/affinity/anti_term_matches.h"
#include "core/affinity/counter_cache.h"
#include "core/affinity/host_port_table.h"
#include "core/affinity/namespace_labels.h"
#include "core/affinity/removed_pods.h"
#include "core/affinity/topology_counter.h"
#include "core/affinity/topology_domains.h"
#include "core/model/ids.h"
#include "core/model/pod.h"
#include "core/model/reason.h"

namespace stowage::core {

class AffinityFilter {
 public:
  struct Sources {
    const HostPortTable& ports;
    const TopologyDomains& domains;
    const NamespaceLabels& namespaces;
    AntiAffinityTerms& anti_terms;
    AntiTermMatches& anti_matches;
    CounterCache& counters;
  };
  AffinityFilter() = default;  // to be assigned to before it is used
  AffinityFilter(const PodSpec& pod, const Sources& sources);

  // False: every node passes.
  [[nodiscard]] bool any() const;
  // none, host_port, spread_label, spread, pod_affinity, pod_anti_affinity, others_anti_affinity.
  // `removed`: as if these pods, all of them on this node, were not there.
  [[nodiscard]] ReasonCode check(NodeIndex node, const RemovedPods* removed = nullptr) const;
  // Anti-affinity terms of other pods that were merged because there are many: a measure of what
  // it costs to make this filter again.
  [[nodiscard]] std::size_t merged_terms() const { return merged_terms_.size(); }

  // Soft rules. A smaller spread score and a larger preference score are better.
  [[nodiscard]] bool prefers() const { return !soft_spread_.empty() || !preferences_.empty(); }
  [[nodiscard]] std::int64_t spread_score(NodeIndex node) const;
  [[nodiscard]] std::int64_t preference_score(NodeIndex node) const;

 private:
  struct HardSpread {
    const TopologyCounter* counter = nullptr;
    std::int64_t limit = 0;  // most matching pods that a domain may have before this pod comes
    std::int64_t skew = 0;   // the limit, less the pods of the emptiest domain
    bool fixed = false;      // the limit does not depend on the emptiest domain
  };
  struct Preference {
    const TopologyCounter* counter = nullptr;
    std::int64_t weight = 0;
  };
  struct ExcludedDomains {  // of one topology key
    TopologyKeyIndex topology;
    std::vector<std::int32_t> pods;  // by domain: pods whose terms keep this pod off
  };

  void add_spread(const SpreadRule& rule, const Sources& sources);
  void add_affinity(const Sources& sources);
  void add_own_terms(CounterCache& counters);
  void add_terms_of_others(const Sources& sources);
  void merge_terms_of_others();

  [[nodiscard]] DomainIndex domain_of(TopologyKeyIndex topology, NodeIndex node) const {
    return (*domains_)[topology].of(node.at());
  }
  [[nodiscard]] static std::int64_t pods_in(const TopologyCounter& counter, DomainIndex domain,
                                            NodeIndex node, const RemovedPods* removed);
  [[nodiscard]] ReasonCode check_spread(NodeIndex node, const RemovedPods* removed) const;
  [[nodiscard]] bool check_affinity(NodeIndex node, const RemovedPods* removed) const;
  [[nodiscard]] bool excluded_by_others(NodeIndex node, const RemovedPods* removed) const;

  const PodSpec* pod_ = nullptr;
  const HostPortTable* ports_ = nullptr;
  const TopologyDomains* domains_ = nullptr;
  const AntiAffinityTerms* anti_terms_ = nullptr;
  std::vector<HardSpread> hard_spread_;
  std::vector<const TopologyCounter*> soft_spread_;
  std::vector<const TopologyCounter*> affinity_;
  std::int64_t affinity_pods_ = 0;  // pods that match the affinity terms, summed over the terms
  bool selects_itself_ = false;     // by its affinity terms: it may be the first such pod
  std::vector<const TopologyCounter*> anti_affinity_;
  std::vector<Preference> preferences_;
  // Anti-affinity terms of other pods that select this one: as they are, or merged.
  std::vector<AntiTermIndex> terms_of_others_;
  std::vector<ExcludedDomains> excluded_;
  std::vector<AntiTermIndex> merged_terms_;  // sorted; then terms_of_others_ is empty
};

}  // namespace stowage::core
