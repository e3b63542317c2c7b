#include "core/volumes/volume_book.h"

namespace stowage::core {

void VolumeBook::set(const Claim& claim) {
  store_.set(claim);
  users_.claim_changed(claim.name);
  reservations_.seen(claim);
}

void VolumeBook::set(const Volume& volume) {
  store_.set(volume);
  users_.volume_changed(volume.name);
  reservations_.seen(volume);
}

void VolumeBook::set(const StorageClass& storage_class) {
  store_.set(storage_class);
  users_.class_changed(storage_class.name);
}

void VolumeBook::drop(ThingKind kind, const std::string& name) {
  store_.drop(kind, name);
  if (kind == ThingKind::claim) users_.claim_changed(name);
  if (kind == ThingKind::volume) users_.volume_changed(name);
  if (kind == ThingKind::storage_class) users_.class_changed(name);
  if (kind == ThingKind::attachment) users_.drop_attachment(name);
}

}  // namespace stowage::core
