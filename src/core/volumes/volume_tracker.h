// Volumes, claims and their users, kept consistent: changes in the store are passed on to the users
// and the reservations that depend on them.
//
// Pure and deterministic: ordered containers, ties by size and then by name.
#pragma once

#include <string>

#include "core/volumes/claim_reservations.h"
#include "core/volumes/volume_filter.h"
#include "core/volumes/volume_needs.h"
#include "core/volumes/volume_store.h"
#include "core/volumes/volume_users.h"

namespace stowage::core {

class VolumeTracker {
 public:
  // ---- objects of the API
  void set(const Claim& claim);
  void set(const Volume& volume);
  void set(const StorageClass& storage_class);
  void set(const StorageDriver& driver) { store_.set(driver); }
  void set(const StorageCapacity& capacity) { store_.set(capacity); }
  void set(const NodeVolumeLimits& limits) { store_.set(limits); }
  void set(const Attachment& attachment) { users_.set(attachment); }
  void drop(AuxKind kind, const std::string& name);  // other kinds are ignored

  // Pods on a node, or being bound to one; and the claims that the latter will bind.
  [[nodiscard]] VolumeUsers& users() { return users_; }
  [[nodiscard]] ClaimReservations& reservations() { return reservations_; }

  // ---- queries about a pod without a node (it is not counted as a user of its own claims)
  [[nodiscard]] VolumeNeeds look_up(const PodSpec& pod) const { return volume_needs(pod, store_); }
  [[nodiscard]] const VolumeUsers& users() const { return users_; }
  [[nodiscard]] VolumeFilter filter() const { return {store_, users_, reservations_}; }

 private:
  VolumeStore store_;
  VolumeUsers users_{store_};
  ClaimReservations reservations_;
};

}  // namespace stowage::core
