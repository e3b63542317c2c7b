#include "core/volumes/volume_users.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/volumes/erase_entry.h"

namespace stowage::core {
namespace {

bool clash(const Disk& a, const Disk& b) {
  if (a.kind != b.kind || a.id != b.id) return false;
  if (a.kind == Disk::Kind::aws) return true;
  if (a.read_only && b.read_only) return false;
  if (a.kind != Disk::Kind::rbd) return true;
  return std::any_of(a.monitors.begin(), a.monitors.end(), [&](const std::string& monitor) {
    return std::find(b.monitors.begin(), b.monitors.end(), monitor) != b.monitors.end();
  });
}

}  // namespace

// ---- what is counted

VolumeUsers::Mount VolumeUsers::mount_of(const Claim& claim) const {
  // A volume without a CSI driver has no handle and is not counted.
  if (const Volume* volume = store_.volume(claim.volume)) {
    return {.driver = volume->driver, .handle = volume->handle};
  }
  const StorageClass* storage_class = store_.storage_class(claim.storage_class);
  if (storage_class == nullptr) return {};
  return {.driver = storage_class->provisioner, .handle = claim.name, .to_come = true};
}

VolumeUsers::Mount VolumeUsers::mount_of(const Attachment& attachment) const {
  const Volume* volume = store_.volume(attachment.volume);
  if (volume == nullptr || volume->driver.empty()) return {};
  return {.driver = attachment.driver, .handle = volume->handle};
}

void VolumeUsers::count(const std::string& node, const Mount& mount, const Users& change) {
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

// ---- the store has changed

void VolumeUsers::claim_changed(const std::string& name) {
  const auto used = uses_.find(name);
  if (used == uses_.end()) return;
  Use& use = used->second;
  const Claim* claim = store_.claim(name);
  Mount now = claim == nullptr ? Mount{} : mount_of(*claim);
  if (now == use.as) return;
  for (const auto& [node, pods] : use.nodes) {
    count(node, use.as, {.pods = -pods});
    count(node, now, {.pods = pods});
  }
  use.as = std::move(now);
}

void VolumeUsers::recount_attachment(Attached& attached) {
  Mount now = mount_of(attached.attachment);
  if (now == attached.as) return;
  count(attached.attachment.node, attached.as, {.pods = 0, .attachments = -1});
  count(attached.attachment.node, now, {.pods = 0, .attachments = 1});
  attached.as = std::move(now);
}

void VolumeUsers::volume_changed(const std::string& name) {
  if (const auto* claims = store_.claims_on(name)) {
    for (const auto& claim : *claims) claim_changed(claim);
  }
  if (const auto found = attachments_of_.find(name); found != attachments_of_.end()) {
    for (const auto& attachment : found->second) recount_attachment(attachments_.at(attachment));
  }
}

void VolumeUsers::class_changed(const std::string& name) {
  for (const auto& [claim_name, use] : uses_) {
    const Claim* claim = store_.claim(claim_name);
    if (claim != nullptr && claim->storage_class == name) claim_changed(claim_name);
  }
}

// ---- attachments and pods

void VolumeUsers::set(const Attachment& attachment) {
  drop_attachment(attachment.name);
  Attached& attached = attachments_[attachment.name] = {.attachment = attachment, .as = {}};
  attachments_of_[attachment.volume].insert(attachment.name);
  recount_attachment(attached);
}

void VolumeUsers::drop_attachment(const std::string& name) {
  const auto found = attachments_.find(name);
  if (found == attachments_.end()) return;
  const auto& [attachment, as] = found->second;
  count(attachment.node, as, {.pods = 0, .attachments = -1});
  erase_entry(attachments_of_, attachment.volume, name);
  attachments_.erase(found);
}

void VolumeUsers::add_pod(const PodSpec& pod, std::string_view node) {
  remove_pod(pod.uid);
  if (pod.constraints.claims.empty() && pod.constraints.disks.empty()) return;
  PodUse& pod_use = pod_uses_[pod.uid];
  pod_use.node = node;
  pod_use.disks = pod.constraints.disks;
  for (const Disk& disk : pod_use.disks) {
    loads_[pod_use.node].disks.emplace(disk.id, DiskUse{.uid = pod.uid, .disk = disk});
  }
  for (const auto& use : pod.constraints.claims) {
    bool& direct = pod_use.claims[claim_name(pod, use)];
    direct = direct || !use.ephemeral;
  }
  for (const auto& [name, direct] : pod_use.claims) {
    Use& use = uses_[name];
    claim_changed(name);  // sets `as` of a new use
    ++use.nodes[pod_use.node];
    if (direct) use.direct.insert(pod.uid);
    count(pod_use.node, use.as, {.pods = 1});
  }
}

void VolumeUsers::remove_pod(const std::string& uid) {
  const auto found = pod_uses_.find(uid);
  if (found == pod_uses_.end()) return;
  const PodUse& pod_use = found->second;
  for (const auto& [name, direct] : pod_use.claims) {
    const auto used = uses_.find(name);
    Use& use = used->second;
    count(pod_use.node, use.as, {.pods = -1});
    use.direct.erase(uid);
    if (--use.nodes[pod_use.node] == 0) use.nodes.erase(pod_use.node);
    if (use.nodes.empty()) uses_.erase(used);
  }
  if (const auto load = loads_.find(pod_use.node); load != loads_.end()) {
    for (const Disk& disk : pod_use.disks) {
      auto at = load->second.disks.lower_bound(disk.id);
      while (at != load->second.disks.end() && at->first == disk.id) {
        at = at->second.uid == uid ? load->second.disks.erase(at) : std::next(at);
      }
    }
    if (load->second.mounts.empty() && load->second.disks.empty()) loads_.erase(load);
  }
  pod_uses_.erase(found);
}

// ---- queries

bool VolumeUsers::claim_taken(const VolumeNeeds& needs, const Uids& removed) const {
  return std::any_of(needs.exclusive.begin(), needs.exclusive.end(), [&](const auto& claim) {
    const auto use = uses_.find(claim);
    if (use == uses_.end()) return false;
    const Uids& direct = use->second.direct;
    return std::any_of(direct.begin(), direct.end(), [&](const std::string& uid) {
      return uid != needs.pod->uid && !removed.contains(uid);
    });
  });
}

bool VolumeUsers::disk_taken(const PodSpec& pod, const std::string& node,
                             const Uids& removed) const {
  const auto& mine = pod.constraints.disks;
  if (mine.empty()) return false;
  const auto load = loads_.find(node);
  if (load == loads_.end()) return false;
  return std::any_of(mine.begin(), mine.end(), [&](const Disk& disk) {
    auto at = load->second.disks.lower_bound(disk.id);
    for (; at != load->second.disks.end() && at->first == disk.id; ++at) {
      const std::string& uid = at->second.uid;
      if (uid == pod.uid || removed.contains(uid)) continue;
      if (clash(disk, at->second.disk)) return true;
    }
    return false;
  });
}

std::int64_t VolumeUsers::own_uses(const PodSpec& pod, const std::string& node,
                                   const Mount& mount) const {
  const auto pod_use = pod_uses_.find(pod.uid);
  if (pod_use == pod_uses_.end() || pod_use->second.node != node) return 0;
  std::int64_t uses = 0;
  for (const auto& [claim, direct] : pod_use->second.claims) {
    if (uses_.at(claim).as == mount) ++uses;
  }
  return uses;
}

std::map<VolumeUsers::Mount, std::int64_t> VolumeUsers::uses_by(const Uids& uids,
                                                                const std::string& node) const {
  std::map<Mount, std::int64_t> uses;
  for (const std::string& uid : uids) {
    const auto pod_use = pod_uses_.find(uid);
    if (pod_use == pod_uses_.end() || pod_use->second.node != node) continue;
    for (const auto& [claim, direct] : pod_use->second.claims) ++uses[uses_.at(claim).as];
  }
  return uses;
}

bool VolumeUsers::over_limit(const VolumeNeeds& needs, const std::string& node,
                             const Uids& removed) const {
  const NodeVolumeLimits* limits = store_.limits(node);
  if (limits == nullptr || limits->most.empty()) return false;
  std::set<Mount> wanted;
  for (const auto* claims : {&needs.bound, &needs.waiting}) {
    for (const Claim* claim : *claims) {
      Mount mount = mount_of(*claim);
      const bool counts = !mount.handle.empty() && limits->most.contains(mount.driver);
      if (counts) wanted.insert(std::move(mount));
    }
  }
  if (wanted.empty()) return false;
  const auto found = loads_.find(node);
  const Load empty;
  const Load& load = found == loads_.end() ? empty : found->second;
  const auto away = uses_by(removed, node);
  const auto users_of = [&](const Mount& mount) {
    const auto there = load.mounts.find(mount);
    const auto gone = away.find(mount);
    return (there == load.mounts.end() ? 0 : there->second.all()) -
           (gone == away.end() ? 0 : gone->second);
  };
  std::map<std::string, std::int64_t>
      total;  // including the pod, for drivers that get a new volume
  for (const auto& mount : wanted) {
    const std::int64_t users = users_of(mount);
    if (users > own_uses(*needs.pod, node, mount)) continue;  // already mounted there by others
    const auto count = load.count.find(mount.driver);
    const std::int64_t before = count == load.count.end() ? 0 : count->second;
    const auto sum = total.emplace(mount.driver, before).first;
    if (users == 0) ++sum->second;
  }
  for (const auto& [mount, uses] : away) {
    const auto sum = total.find(mount.driver);
    if (sum != total.end() && load.mounts.contains(mount) && users_of(mount) == 0) --sum->second;
  }
  return std::any_of(total.begin(), total.end(), [&](const auto& entry) {
    return entry.second > limits->most.at(entry.first);
  });
}

}  // namespace stowage::core
