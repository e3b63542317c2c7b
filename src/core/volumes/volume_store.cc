#include "core/volumes/volume_store.h"

#include "core/volumes/erase_entry.h"

namespace stowage::core {
namespace {

// True if any claim may get it.
bool is_free(const Volume& volume) {
  return volume.claim.empty() && volume.available && !volume.deleting;
}

std::int64_t most_of(const StorageCapacity& capacity) {
  return capacity.largest.value_or(capacity.bytes);
}

}  // namespace

void VolumeStore::set(const Claim& claim) {
  drop_claim(claim.name);
  if (!claim.volume.empty()) claims_on_[claim.volume].insert(claim.name);
  claims_[claim.name] = claim;
}

void VolumeStore::set(const Volume& volume) {
  drop_volume(volume.name);
  if (is_free(volume)) {
    free_volumes_[volume.storage_class].add(Reach::anchors_of(volume.affinity), volume.bytes,
                                            volume.name);
  }
  if (!volume.claim.empty()) volumes_for_[volume.claim].insert(volume.name);
  volumes_[volume.name] = volume;
}

void VolumeStore::set(const StorageCapacity& capacity) {
  drop_capacity(capacity.name);
  pools_[capacity.storage_class].add(Reach::anchors_of(capacity.nodes), most_of(capacity),
                                     capacity.name);
  capacities_[capacity.name] = capacity;
}

void VolumeStore::drop(AuxKind kind, const std::string& name) {
  switch (kind) {
    case AuxKind::claim: drop_claim(name); break;
    case AuxKind::volume: drop_volume(name); break;
    case AuxKind::storage_class: classes_.erase(name); break;
    case AuxKind::storage_driver: drivers_.erase(name); break;
    case AuxKind::storage_capacity: drop_capacity(name); break;
    case AuxKind::node_volume_limits: limits_.erase(name); break;
    case AuxKind::attachment:
    case AuxKind::name_space:
    case AuxKind::budget: break;
  }
}

void VolumeStore::drop_claim(const std::string& name) {
  const auto found = claims_.find(name);
  if (found == claims_.end()) return;
  erase_entry(claims_on_, found->second.volume, name);
  claims_.erase(found);
}

void VolumeStore::drop_volume(const std::string& name) {
  const auto found = volumes_.find(name);
  if (found == volumes_.end()) return;
  const Volume& volume = found->second;
  if (is_free(volume)) {
    free_volumes_[volume.storage_class].remove(Reach::anchors_of(volume.affinity), volume.bytes,
                                               name);
  }
  erase_entry(volumes_for_, volume.claim, name);
  volumes_.erase(found);
}

void VolumeStore::drop_capacity(const std::string& name) {
  const auto found = capacities_.find(name);
  if (found == capacities_.end()) return;
  const StorageCapacity& capacity = found->second;
  pools_[capacity.storage_class].remove(Reach::anchors_of(capacity.nodes), most_of(capacity), name);
  capacities_.erase(found);
}

}  // namespace stowage::core
