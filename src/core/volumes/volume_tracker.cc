#include "core/volumes/volume_tracker.h"

namespace stowage::core {

void VolumeTracker::set(const Claim& claim) {
  store_.set(claim);
  users_.claim_changed(claim.name);
  reservations_.seen(claim);
}

void VolumeTracker::set(const Volume& volume) {
  store_.set(volume);
  users_.volume_changed(volume.name);
  reservations_.seen(volume);
}

void VolumeTracker::set(const StorageClass& storage_class) {
  store_.set(storage_class);
  users_.class_changed(storage_class.name);
}

void VolumeTracker::drop(AuxKind kind, const std::string& name) {
  store_.drop(kind, name);
  if (kind == AuxKind::claim) users_.claim_changed(name);
  if (kind == AuxKind::volume) users_.volume_changed(name);
  if (kind == AuxKind::storage_class) users_.class_changed(name);
  if (kind == AuxKind::attachment) users_.drop_attachment(name);
}

}  // namespace stowage::core
