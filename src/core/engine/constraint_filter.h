// A pod's demands beyond the node itself: other pods, host ports and volumes. Made for one
// decision, and checked on nodes that fit otherwise, the best first.
#pragma once

#include <string>
#include <vector>

#include "core/affinity/affinity_filter.h"
#include "core/affinity/affinity_index.h"
#include "core/affinity/removed_pods.h"
#include "core/ledger/ledger.h"
#include "core/model/reason.h"
#include "core/volumes/volume_tracker.h"

namespace stowage::core {

class ConstraintFilter {
 public:
  struct State {
    const Ledger* ledger = nullptr;
    AffinityIndex* affinity = nullptr;
    const VolumeTracker* volumes = nullptr;
  };
  // Neither the pod nor the state may change while this object is used.
  ConstraintFilter(const PodSpec& pod, const State& state);

  // False: no node is excluded.
  [[nodiscard]] bool any() const { return rules_ || !needs_.trouble.empty(); }
  // If not empty, no node can take the pod; the text says why.
  [[nodiscard]] const std::string& trouble() const { return needs_.trouble; }
  [[nodiscard]] ReasonCode check(NodeIndex node) const { return check(node, nullptr); }

  // Pods of one node that a dry run removes, as far as these demands depend on them.
  class Removed {
   public:
    explicit Removed(const ConstraintFilter& constraint_filter)
        : filter_(constraint_filter), affinity_(*constraint_filter.state_.affinity) {}
    void take(PodIndex pod);
    void put_back(PodIndex pod);
    // Checks the node as if the removed pods were absent; none if the pod demands nothing.
    [[nodiscard]] ReasonCode check(NodeIndex node) const { return filter_.check(node, this); }

   private:
    friend class ConstraintFilter;
    const ConstraintFilter& filter_;
    RemovedPods affinity_;
    VolumeUsers::Uids uids_;
  };
  // Another pod uses a ReadWriteOncePod claim of this pod, so no node can take it.
  [[nodiscard]] bool claim_taken() const;
  // See AffinityFilter::merged_terms().
  [[nodiscard]] std::size_t others() const { return affinity_.merged_terms(); }
  // Do events about volumes and claims make a difference to this pod?
  [[nodiscard]] bool uses_volumes() const { return needs_.any(); }
  [[nodiscard]] std::vector<ClaimStep> claims_on(NodeIndex node) const;

  // Soft preferences decide among nodes that the policy rates equally. False: the pod has none.
  [[nodiscard]] bool prefers() const;
  // The node that the pod prefers most; the first of equals. Requires: at least one node.
  [[nodiscard]] NodeIndex most_preferred(const std::vector<NodeIndex>& nodes) const;

 private:
  [[nodiscard]] ReasonCode check(NodeIndex node, const Removed* removed) const;

  const PodSpec* pod_ = nullptr;
  State state_;
  AffinityFilter affinity_;
  VolumeNeeds needs_;
  bool rules_ = false;
};

// True if removing pods from the node, or waiting until some end, could help against this reason.
[[nodiscard]] bool resolvable(ReasonCode code);

}  // namespace stowage::core
