// Volumes, claims and who uses them, kept together: what changes in the store reaches the users and
// the reservations that depend on it.
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

class VolumeBook {
 public:
  // ---- what the API says
  void set(const Claim& claim);
  void set(const Volume& volume);
  void set(const StorageClass& storage_class);
  void set(const StorageDriver& driver) { store_.set(driver); }
  void set(const StorageCapacity& capacity) { store_.set(capacity); }
  void set(const NodeVolumeLimits& limits) { store_.set(limits); }
  void set(const Attachment& attachment) { users_.set(attachment); }
  void drop(ThingKind kind, const std::string& name);  // other kinds are ignored

  // Pods that are on a node, or on their way to one; what those on their way will bind.
  [[nodiscard]] VolumeUsers& users() { return users_; }
  [[nodiscard]] ClaimReservations& reservations() { return reservations_; }

  // ---- questions about a pod that has no node yet (it is not counted as a user of its own claims)
  [[nodiscard]] VolumeNeeds look_up(const PodSpec& pod) const { return volume_needs(pod, store_); }
  [[nodiscard]] const VolumeUsers& users() const { return users_; }
  [[nodiscard]] VolumeFilter filter() const { return {store_, users_, reservations_}; }

 private:
  VolumeStore store_;
  VolumeUsers users_{store_};
  ClaimReservations reservations_;
};

}  // namespace stowage::core
