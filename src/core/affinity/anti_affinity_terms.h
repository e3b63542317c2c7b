// The required anti-affinity terms of pods on nodes: equal terms are one, with its pods counted by
// node and by topology domain. A few terms without pods are kept for reuse; free_unused() frees the
// others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/strong_id.h"
#include "core/affinity/domain_counts.h"
#include "core/affinity/topology_domains.h"
#include "core/model/ids.h"
#include "core/model/pod_constraints.h"

namespace stowage::core {

using AntiTermIndex = base::StrongId<struct AntiTermTag>;

struct AntiTerm {
  PodTerm term;
  std::string key;
  TopologyKeyIndex topology;
  std::map<std::size_t, std::int32_t> by_node;  // pods that have the term
  DomainCounts by_domain;                       // the same, as of the last refresh()
  std::uint64_t version = 0;                    // TopologyDomains::version() of that refresh()
};

class AntiAffinityTerms {
 public:
  static constexpr std::size_t kMaxUnused = 64;

  explicit AntiAffinityTerms(TopologyDomains& domains) : domains_(domains) {}

  // The index of the term, added if it is new.
  [[nodiscard]] AntiTermIndex intern(const PodTerm& term);
  void add_pods(AntiTermIndex index, NodeIndex node, std::int32_t delta);
  // Frees terms without pods, down to kMaxUnused of them. New terms will reuse their indexes.
  void free_unused() {
    if (unused_.size() > kMaxUnused) free_some();
  }

  // Brings AntiTerm::by_domain up to date; add_pods() keeps it so until nodes change.
  void refresh(AntiTermIndex index);
  [[nodiscard]] const AntiTerm& operator[](AntiTermIndex index) const { return terms_[index.at()]; }

  // Every index is below this number.
  [[nodiscard]] std::size_t rows() const { return terms_.size(); }
  [[nodiscard]] std::size_t size() const { return by_key_.size(); }
  [[nodiscard]] bool any_used() const { return terms_.size() > unused_.size() + free_.size(); }
  // Grows when an index below an earlier rows() may have got another meaning. Never 0.
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  void free_some();
  void drop_free_tail();

  TopologyDomains& domains_;
  std::vector<AntiTerm> terms_;
  std::map<std::string, AntiTermIndex> by_key_;
  std::set<AntiTermIndex> unused_;  // terms without pods
  std::set<AntiTermIndex> free_;    // indexes without a term
  std::uint64_t version_ = 1;
};

}  // namespace stowage::core
