// What the engine knows of the cluster. A pod on a node is in several of these at once: charged in
// the ledger and to its namespace's quota, counted among its neighbours, a user of its volumes.
// Everything reads it; only events, placing and releasing write to it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/engine/beyond.h"
#include "core/ledger/ledger.h"
#include "core/model/event.h"
#include "core/model/storage.h"
#include "core/peers/peers.h"
#include "core/quota/book.h"
#include "core/volumes/volume_book.h"

namespace stowage::core {

struct ClusterState {
  Ledger ledger;
  Peers peers{ledger};
  VolumeBook volumes;
  QuotaBook quotas;
  std::map<std::string, Budget> budgets;
  std::map<std::int32_t, std::int64_t> priorities;  // of pods on nodes: how many
  std::uint64_t epoch = 0;                          // of nodes' labels, namespaces and volumes

  // Counts the pod, which the ledger has on a node already, everywhere else.
  void seat(PodIndex pod, const PodSpec& spec);
  void unseat(PodIndex pod);  // the reverse, before the ledger forgets it
  void apply(const ThingChanged& e);
  void apply(const ThingGone& e);
  // Pods that dry runs of preemption looked away from: those that wait for them are tried again.
  void touch(const std::vector<PodIndex>& pods) {
    for (const PodIndex pod : pods) peers.touch(pod);
  }

  // The pod with what the quota of its namespace leaves it, if there is one: then in `scratch`.
  [[nodiscard]] const PodSpec& bounded(const PodSpec& pod, PodSpec& scratch) const;
  [[nodiscard]] Beyond beyond(const PodSpec& pod) {
    return {pod, {.ledger = &ledger, .peers = &peers, .volumes = &volumes}};
  }
  // Positions of cards that are known by their ids; on a node that is not known all are absent.
  [[nodiscard]] Positions positions_on(const std::string& node, const NamedAssignment& cards) const;
  // Of the node with this name, if it is there; else invalid.
  [[nodiscard]] NodeIndex find_present(const std::string& node) const;
  [[nodiscard]] bool any_below(std::int32_t priority) const {
    return !priorities.empty() && priorities.begin()->first < priority;
  }
  // Changes with everything that can make a difference to a pod that is refused.
  [[nodiscard]] std::uint64_t version() const {
    return ledger.change_count() + peers.changes() + epoch;
  }
};

}  // namespace stowage::core
