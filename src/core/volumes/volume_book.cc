#include "core/volumes/volume_book.h"

namespace stowage::core {
namespace {

// Removes one entry of an index, and the key with its last entry.
template <class Index, class Entry>
void erase_entry(Index& index, const std::string& key, const Entry& entry) {
  const auto found = index.find(key);
  if (found == index.end()) return;
  found->second.erase(entry);
  if (found->second.empty()) index.erase(found);
}

// May it be given to a claim that it was not promised to?
bool is_free(const Volume& volume) {
  return volume.claim.empty() && volume.available && !volume.deleting;
}

std::int64_t most_of(const StorageCapacity& capacity) {
  return capacity.largest.value_or(capacity.bytes);
}

}  // namespace

void VolumeBook::set(const Claim& claim) {
  unset_claim(claim.name);
  if (!claim.volume.empty()) claims_on_[claim.volume].insert(claim.name);
  claims_[claim.name] = claim;
  recount_claim(claim.name);
  const auto holds = holds_.find(claim.name);
  if (holds == holds_.end()) return;
  std::vector<std::string> settled;
  for (const auto& [uid, hold] : holds->second) {
    const bool being_made = hold.volume.empty() && !claim.selected_node.empty();
    if (claim.bound || being_made) settled.push_back(uid);
  }
  for (const auto& uid : settled) unhold(uid, claim.name);
}

void VolumeBook::set(const Volume& volume) {
  unset_volume(volume.name);
  if (is_free(volume)) {
    free_volumes_[volume.storage_class].add(Reach::anchors_of(volume.affinity), volume.bytes,
                                            volume.name);
  }
  if (!volume.claim.empty()) volumes_for_[volume.claim].insert(volume.name);
  volumes_[volume.name] = volume;
  recount_volume(volume.name);
  const auto held = held_.find(volume.name);
  if (held == held_.end() || volume.claim_uid.empty()) return;
  std::vector<Holder> settled;
  for (const auto& holder : held->second) {
    if (holder.claim == volume.claim) settled.push_back(holder);
  }
  for (const auto& holder : settled) unhold(holder.uid, holder.claim);
}

void VolumeBook::set(const StorageClass& storage_class) {
  classes_[storage_class.name] = storage_class;
  recount_class(storage_class.name);
}

void VolumeBook::set(const StorageDriver& driver) { drivers_[driver.name] = driver; }

void VolumeBook::set(const StorageCapacity& capacity) {
  unset_capacity(capacity.name);
  pools_[capacity.storage_class].add(Reach::anchors_of(capacity.nodes), most_of(capacity),
                                     capacity.name);
  capacities_[capacity.name] = capacity;
}

void VolumeBook::set(const NodeVolumeLimits& limits) { limits_[limits.node] = limits; }

void VolumeBook::set(const Attachment& attachment) {
  unset_attachment(attachment.name);
  attachments_[attachment.name] = {.attachment = attachment, .as = {}};
  attachments_of_[attachment.volume].insert(attachment.name);
  recount_attachment(attachment.name);
}

void VolumeBook::drop(ThingKind kind, const std::string& name) {
  switch (kind) {
    case ThingKind::claim:
      unset_claim(name);
      recount_claim(name);
      break;
    case ThingKind::volume:
      unset_volume(name);
      recount_volume(name);
      break;
    case ThingKind::storage_class:
      classes_.erase(name);
      recount_class(name);
      break;
    case ThingKind::storage_driver: drivers_.erase(name); break;
    case ThingKind::storage_capacity: unset_capacity(name); break;
    case ThingKind::node_volume_limits: limits_.erase(name); break;
    case ThingKind::attachment: unset_attachment(name); break;
    case ThingKind::name_space:
    case ThingKind::budget: break;
  }
}

void VolumeBook::unset_claim(const std::string& name) {
  const auto found = claims_.find(name);
  if (found == claims_.end()) return;
  erase_entry(claims_on_, found->second.volume, name);
  claims_.erase(found);
}

void VolumeBook::unset_volume(const std::string& name) {
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

void VolumeBook::unset_capacity(const std::string& name) {
  const auto found = capacities_.find(name);
  if (found == capacities_.end()) return;
  const StorageCapacity& capacity = found->second;
  pools_[capacity.storage_class].remove(Reach::anchors_of(capacity.nodes), most_of(capacity), name);
  capacities_.erase(found);
}

void VolumeBook::unset_attachment(const std::string& name) {
  const auto found = attachments_.find(name);
  if (found == attachments_.end()) return;
  const auto& [attachment, as] = found->second;
  count(attachment.node, as, {.pods = 0, .attachments = -1});
  erase_entry(attachments_of_, attachment.volume, name);
  attachments_.erase(found);
}

VolumeBook::Mount VolumeBook::mount_of(const Claim& claim) const {
  // A volume that is not of a CSI driver has neither name nor handle, and is not counted.
  const auto volume = volumes_.find(claim.volume);
  if (volume != volumes_.end()) {
    return {.driver = volume->second.driver, .handle = volume->second.handle};
  }
  const auto found = classes_.find(claim.storage_class);
  if (found == classes_.end()) return {};
  return {.driver = found->second.provisioner, .handle = claim.name, .to_come = true};
}

VolumeBook::Mount VolumeBook::mount_of(const Attachment& attachment) const {
  const auto volume = volumes_.find(attachment.volume);
  if (volume == volumes_.end() || volume->second.driver.empty()) return {};
  return {.driver = attachment.driver, .handle = volume->second.handle};
}

void VolumeBook::count(const std::string& node, const Mount& mount, const Users& change) {
  if (mount.driver.empty() || mount.handle.empty()) return;
  Load& load = loads_[node];
  Users& users = load.mounts[mount];
  const bool was_there = users.all() > 0;
  users.pods += change.pods;
  users.attachments += change.attachments;
  const bool is_there = users.all() > 0;
  if (is_there != was_there) load.count[mount.driver] += is_there ? 1 : -1;
  if (is_there) return;
  load.mounts.erase(mount);
  if (load.count[mount.driver] == 0) load.count.erase(mount.driver);
  if (load.mounts.empty() && load.disks.empty()) loads_.erase(node);
}

void VolumeBook::recount_claim(const std::string& name) {
  const auto used = uses_.find(name);
  if (used == uses_.end()) return;
  Use& use = used->second;
  const auto claim = claims_.find(name);
  Mount now = claim == claims_.end() ? Mount{} : mount_of(claim->second);
  if (now == use.as) return;
  for (const auto& [node, pods] : use.nodes) {
    count(node, use.as, {.pods = -pods});
    count(node, now, {.pods = pods});
  }
  use.as = std::move(now);
}

void VolumeBook::recount_attachment(const std::string& name) {
  Attached& attached = attachments_.at(name);
  Mount now = mount_of(attached.attachment);
  if (now == attached.as) return;
  count(attached.attachment.node, attached.as, {.pods = 0, .attachments = -1});
  count(attached.attachment.node, now, {.pods = 0, .attachments = 1});
  attached.as = std::move(now);
}

void VolumeBook::recount_volume(const std::string& name) {
  if (const auto claims = claims_on_.find(name); claims != claims_on_.end()) {
    for (const auto& claim : claims->second) recount_claim(claim);
  }
  if (const auto found = attachments_of_.find(name); found != attachments_of_.end()) {
    for (const auto& attachment : found->second) recount_attachment(attachment);
  }
}

void VolumeBook::recount_class(const std::string& name) {
  for (const auto& [claim_name, use] : uses_) {
    const auto claim = claims_.find(claim_name);
    if (claim != claims_.end() && claim->second.storage_class == name) recount_claim(claim_name);
  }
}

void VolumeBook::add_pod(const PodSpec& pod, std::string_view node) {
  remove_pod(pod.uid);
  if (pod.around.claims.empty() && pod.around.disks.empty()) return;
  Guest& guest = guests_[pod.uid];
  guest.node = node;
  guest.disks = pod.around.disks;
  for (const Disk& disk : guest.disks) {
    loads_[guest.node].disks.emplace(disk.id, DiskUse{.uid = pod.uid, .disk = disk});
  }
  for (const auto& use : pod.around.claims) {
    bool& direct = guest.claims[claim_name(pod, use)];
    direct = direct || !use.ephemeral;
  }
  for (const auto& [name, direct] : guest.claims) {
    Use& use = uses_[name];
    recount_claim(name);  // of a use that is new
    ++use.nodes[guest.node];
    if (direct) use.direct.insert(pod.uid);
    count(guest.node, use.as, {.pods = 1});
  }
}

void VolumeBook::remove_pod(const std::string& uid) {
  const auto found = guests_.find(uid);
  if (found == guests_.end()) return;
  const Guest& guest = found->second;
  for (const auto& [name, direct] : guest.claims) {
    const auto used = uses_.find(name);
    Use& use = used->second;
    count(guest.node, use.as, {.pods = -1});
    use.direct.erase(uid);
    if (--use.nodes[guest.node] == 0) use.nodes.erase(guest.node);
    if (use.nodes.empty()) uses_.erase(used);
  }
  if (const auto load = loads_.find(guest.node); load != loads_.end()) {
    for (const Disk& disk : guest.disks) {
      auto at = load->second.disks.lower_bound(disk.id);
      while (at != load->second.disks.end() && at->first == disk.id) {
        at = at->second.uid == uid ? load->second.disks.erase(at) : std::next(at);
      }
    }
    if (load->second.mounts.empty() && load->second.disks.empty()) loads_.erase(load);
  }
  guests_.erase(found);
}

void VolumeBook::reserve(const std::string& uid, const std::vector<ClaimStep>& steps,
                         std::string_view node) {
  release(uid);
  for (const auto& step : steps) {
    unhold(uid, step.claim);
    reserved_[uid].insert(step.claim);
    holds_[step.claim][uid] = {.volume = step.volume, .node = std::string(node)};
    if (!step.volume.empty()) held_[step.volume].insert({.uid = uid, .claim = step.claim});
  }
}

void VolumeBook::release(const std::string& uid) {
  const auto found = reserved_.find(uid);
  if (found == reserved_.end()) return;
  const std::set<std::string> claims = found->second;
  for (const auto& claim : claims) unhold(uid, claim);
}

void VolumeBook::unhold(const std::string& uid, const std::string& claim) {
  const auto of_claim = holds_.find(claim);
  if (of_claim == holds_.end()) return;
  const auto hold = of_claim->second.find(uid);
  if (hold == of_claim->second.end()) return;
  erase_entry(held_, hold->second.volume, Holder{.uid = uid, .claim = claim});
  erase_entry(holds_, claim, uid);
  erase_entry(reserved_, uid, claim);
}

}  // namespace stowage::core
