// Pods of one node that a dry run removes. The index itself does not change, and must not while
// this is used.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "core/affinity/anti_affinity_terms.h"
#include "core/affinity/label_sets.h"
#include "core/affinity/topology_counter.h"
#include "core/model/ids.h"

namespace stowage::core {

class AffinityIndex;

class RemovedPods {
 public:
  explicit RemovedPods(const AffinityIndex& index) : index_(&index) {}

  // Removes the pod; ignored if the index does not have it.
  void take(PodIndex pod);
  // Undoes take(); ignored if the pod was not taken.
  void put_back(PodIndex pod);

  [[nodiscard]] const std::set<PodIndex>& pods() const { return pods_; }
  // How many of them the counter counts, on their node.
  [[nodiscard]] std::int64_t counted_by(const TopologyCounter& counter, NodeIndex node) const;
  // How many of them have this anti-affinity term.
  [[nodiscard]] std::int32_t with_term(AntiTermIndex term) const;
  [[nodiscard]] const std::map<AntiTermIndex, std::int32_t>& by_term() const { return by_term_; }

 private:
  struct SetPods {
    std::int32_t all = 0;
    std::int32_t leaving = 0;
  };
  void count(PodIndex pod, std::int32_t delta);

  const AffinityIndex* index_;
  std::set<PodIndex> pods_;
  std::map<LabelSetIndex, SetPods> by_set_;
  std::map<AntiTermIndex, std::int32_t> by_term_;
};

}  // namespace stowage::core
