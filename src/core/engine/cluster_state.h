// The engine's view of the cluster. A pod on a node appears in several of these parts at once: the
// ledger charges it, its namespace's quota counts it, the affinity index and the users of volumes
// contain it. All of the engine reads this state; only events, placing and releasing change it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/affinity/affinity_index.h"
#include "core/engine/constraint_filter.h"
#include "core/ledger/ledger.h"
#include "core/model/event.h"
#include "core/model/storage.h"
#include "core/quota/quota_tracker.h"
#include "core/volumes/volume_tracker.h"

namespace stowage::core {

struct ClusterState {
  Ledger ledger;
  AffinityIndex affinity{ledger};
  VolumeTracker volumes;
  QuotaTracker quotas;
  std::map<std::string, Budget> budgets;
  std::map<std::int32_t, std::int64_t> priorities;  // pods on nodes by priority
  std::uint64_t epoch = 0;  // version of nodes' labels, namespaces and volumes

  // Adds a pod that the ledger already has on a node to all other parts.
  void add_pod(PodIndex pod, const PodSpec& spec);
  void remove_pod(PodIndex pod);  // the reverse; call it before the ledger removes the pod
  void apply(const AuxObjectChanged& e);
  void apply(const AuxObjectGone& e);
  // Marks pods that dry runs of preemption removed, so that pods that depend on them are tried
  // again.
  void touch(const std::vector<PodIndex>& pods) {
    for (const PodIndex pod : pods) affinity.touch(pod);
  }

  // Returns the pod bounded by the rest of its namespace's quota, stored in `scratch`; without a
  // quota, the pod itself.
  [[nodiscard]] const PodSpec& bounded(const PodSpec& pod, PodSpec& scratch) const;
  [[nodiscard]] ConstraintFilter constraint_filter(const PodSpec& pod) {
    return {pod, {.ledger = &ledger, .affinity = &affinity, .volumes = &volumes}};
  }
  // Positions of cards that are given by id. On an unknown node, all of them are absent.
  [[nodiscard]] Positions positions_on(const std::string& node, const NamedAssignment& cards) const;
  // Index of the node with this name; invalid if it is not present.
  [[nodiscard]] NodeIndex find_present(const std::string& node) const;
  [[nodiscard]] bool any_below(std::int32_t priority) const {
    return !priorities.empty() && priorities.begin()->first < priority;
  }
  // Changes whenever something changes that may affect a refused pod.
  [[nodiscard]] std::uint64_t version() const {
    return ledger.changes().count() + affinity.changes() + epoch;
  }
};

}  // namespace stowage::core
