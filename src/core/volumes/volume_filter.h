// Checks whether a pod with its claims may go to a node, and plans what must be bound there. A
// read-only view of the store, the users and the reservations. Follows the kube-scheduler plugins
// VolumeBinding, VolumeZone, NodeVolumeLimits and VolumeRestrictions.
//
// The cost of checking a node depends on the pod's claims and on the volumes that the node reaches,
// not on the size of the cluster. Ties: by size, then by name.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/model/event.h"
#include "core/model/node.h"
#include "core/model/reason.h"
#include "core/volumes/claim_reservations.h"
#include "core/volumes/volume_needs.h"
#include "core/volumes/volume_store.h"
#include "core/volumes/volume_users.h"

namespace stowage::core {

class VolumeFilter {
 public:
  VolumeFilter(const VolumeStore& store, const VolumeUsers& users,
               const ClaimReservations& reservations)
      : store_(store), users_(users), reservations_(reservations) {}

  // Returns none, volume_in_use, volume_limit, volume_node or volume_none, checked in this order.
  // Requires: no trouble. `removed`: uids of pods of the node to ignore.
  [[nodiscard]] ReasonCode check(const VolumeNeeds& needs, const NodeSpec& node,
                                 const VolumeUsers::Uids& removed = {}) const;
  // What must be bound before the pod. Requires: check() returned none.
  [[nodiscard]] std::vector<ClaimStep> plan(const VolumeNeeds& needs, const NodeSpec& node) const;

 private:
  using Chosen = std::set<std::string>;  // names of volumes
  [[nodiscard]] bool reaches_bound(const VolumeNeeds& needs, const NodeSpec& node) const;
  // Unset: a claim finds no volume, and none can be provisioned for it here.
  [[nodiscard]] std::optional<std::vector<ClaimStep>> steps_on(const VolumeNeeds& needs,
                                                               const NodeSpec& node) const;
  [[nodiscard]] std::vector<const Volume*> pre_bound(const Claim& claim,
                                                     const PodSpec& asker) const;
  [[nodiscard]] const Volume* volume_for(const Claim& claim, const PodSpec& asker,
                                         const NodeSpec& node, const Chosen& chosen) const;
  [[nodiscard]] bool can_be_made(const Claim& claim, const NodeSpec& node) const;

  const VolumeStore& store_;
  const VolumeUsers& users_;
  const ClaimReservations& reservations_;
};

}  // namespace stowage::core
