#include <algorithm>
#include <array>

#include "base/text.h"
#include "core/volumes/volume_book.h"

namespace stowage::core {
namespace {

constexpr const char* kNoProvisioner = "kubernetes.io/no-provisioner";

// A label of zones or regions, and where a node without it has the same thing.
struct ZoneLabel {
  const char* key;
  const char* instead;
};
constexpr std::array<ZoneLabel, 4> kZoneLabels{{
    {"topology.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"topology.kubernetes.io/region", "topology.kubernetes.io/region"},
    {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
}};

// Is it one of the zones in "a__b"? A list with an empty place is no list, and says nothing.
bool allows_zone(std::string_view zones, const std::string* zone) {
  bool listed = false;
  while (true) {
    const auto end = zones.find("__");
    const std::string_view entry = base::trim(zones.substr(0, end));
    if (entry.empty()) return true;
    listed = listed || (zone != nullptr && entry == *zone);
    if (end == std::string_view::npos) return listed;
    zones.remove_prefix(end + 2);
  }
}

const std::string* find(const Labels& labels, const char* key) {
  const auto found = labels.find(key);
  return found == labels.end() ? nullptr : &found->second;
}

bool has_zone(const NodeSpec& node) {
  return std::any_of(kZoneLabels.begin(), kZoneLabels.end(), [&](const ZoneLabel& label) {
    return find(node.labels, label.key) != nullptr;
  });
}

bool in_zone(const Volume& volume, const NodeSpec& node) {
  return std::all_of(kZoneLabels.begin(), kZoneLabels.end(), [&](const ZoneLabel& label) {
    const std::string* zones = find(volume.labels, label.key);
    if (zones == nullptr) return true;
    const std::string* zone = find(node.labels, label.key);
    return allows_zone(*zones, zone != nullptr ? zone : find(node.labels, label.instead));
  });
}

// Volumes know nodes by their labels only: the kubelet, too, compares without the name of the node.
bool any_matches(const std::vector<NodeTerm>& terms, const NodeSpec& node) {
  return std::any_of(terms.begin(), terms.end(), [&](const NodeTerm& term) {
    return matches(term, std::string(), node.labels);
  });
}

bool reaches(const Volume& volume, const NodeSpec& node) {
  return !volume.affinity || any_matches(*volume.affinity, node);
}

bool clash(const Disk& a, const Disk& b) {
  if (a.kind != b.kind || a.id != b.id) return false;
  if (a.kind == Disk::Kind::aws) return true;
  if (a.read_only && b.read_only) return false;
  if (a.kind != Disk::Kind::rbd) return true;
  return std::any_of(a.monitors.begin(), a.monitors.end(), [&](const std::string& monitor) {
    return std::find(b.monitors.begin(), b.monitors.end(), monitor) != b.monitors.end();
  });
}

bool smaller(const Volume& a, const Volume& b) {
  return a.bytes != b.bytes ? a.bytes < b.bytes : a.name < b.name;
}

std::string quoted(const std::string& name) { return '"' + name + '"'; }

bool is_exclusive(const Claim& claim) {
  return (claim.modes & static_cast<AccessModes>(AccessMode::rwop)) != 0;
}

bool all_modes(const Claim& claim, const Volume& volume) {
  return (claim.modes & ~volume.modes) == 0;
}

// Does the pod use this claim of its in its own right, and not only as one that was made for it?
bool uses_directly(const PodSpec& pod, const Claim& claim) {
  const std::string_view name = std::string_view(claim.name).substr(claim.name.find('/') + 1);
  return std::any_of(pod.around.claims.begin(), pod.around.claims.end(),
                     [&](const ClaimUse& use) { return !use.ephemeral && use.name == name; });
}

}  // namespace

std::string VolumeBook::claim_name(const PodSpec& pod, const ClaimUse& use) {
  std::string name(namespace_of(pod.name));
  name += '/';
  name += use.name;
  return name;
}

const Claim* VolumeBook::find_claim(const PodSpec& pod, const ClaimUse& use) const {
  const auto found = claims_.find(claim_name(pod, use));
  return found == claims_.end() ? nullptr : &found->second;
}

bool VolumeBook::waits(const Claim& claim) const {
  // One that names its volume is bound by others, whatever its class says.
  if (claim.bound || !claim.volume.empty()) return false;
  const auto found = classes_.find(claim.storage_class);
  return found != classes_.end() && found->second.waits;
}

// Of several troubles, the one that the plugins of the default profile come upon first.
std::string VolumeBook::trouble_of(const PodSpec& pod) const {
  const auto& uses = pod.around.claims;
  for (const auto& use : uses) {
    if (!use.ephemeral && find_claim(pod, use) == nullptr) {
      return "persistentvolumeclaim " + quoted(use.name) + " not found";
    }
  }
  for (const auto& use : uses) {
    const Claim* claim = find_claim(pod, use);
    const std::string what = "persistentvolumeclaim " + quoted(use.name);
    if (claim == nullptr) return "waiting for the ephemeral volume controller to create " + what;
    if (claim->lost) {
      return what + " bound to non-existent persistentvolume " + quoted(claim->volume);
    }
    if (claim->deleting) return what + " is being deleted";
    if (use.ephemeral && (claim->owner_uid.empty() || claim->owner_uid != pod.uid)) {
      return what + " was not created for this pod: delete it, or give the pod another name";
    }
  }
  for (const auto& use : uses) {
    const Claim& claim = *find_claim(pod, use);
    if (!claim.bound && !waits(claim)) return "pod has unbound immediate PersistentVolumeClaims";
  }
  for (const auto& use : uses) {
    const Claim& claim = *find_claim(pod, use);
    if (claim.bound && !volumes_.contains(claim.volume)) {
      return "persistentvolume " + quoted(claim.volume) + " not found";
    }
  }
  return {};
}

VolumeBook::Needs VolumeBook::look_up(const PodSpec& pod) const {
  Needs needs;
  if (pod.around.claims.empty() && pod.around.disks.empty()) return needs;
  needs.pod = &pod;
  needs.trouble = trouble_of(pod);
  if (!needs.trouble.empty()) return needs;
  std::set<std::string> seen;
  for (const auto& use : pod.around.claims) {
    const Claim& claim = *find_claim(pod, use);
    if (!seen.insert(claim.name).second) continue;  // mounted twice
    (claim.bound ? needs.bound : needs.waiting).push_back(&claim);
    if (is_exclusive(claim) && uses_directly(pod, claim)) needs.exclusive.push_back(claim.name);
  }
  return needs;
}

ReasonCode VolumeBook::check(const Needs& needs, const NodeSpec& node, const Uids& removed) const {
  if (!needs.any()) return ReasonCode::none;
  if (in_use(needs, node, removed)) return ReasonCode::volume_in_use;
  if (over_limit(needs, node, removed)) return ReasonCode::volume_limit;
  if (!reaches_bound(needs, node)) return ReasonCode::volume_node;
  if (!needs.waiting.empty() && !steps_on(needs, node)) return ReasonCode::volume_none;
  return ReasonCode::none;
}

std::vector<ClaimStep> VolumeBook::plan(const Needs& needs, const NodeSpec& node) const {
  if (needs.waiting.empty()) return {};
  std::vector<ClaimStep> steps = steps_on(needs, node).value_or(std::vector<ClaimStep>{});
  std::sort(steps.begin(), steps.end(),
            [](const ClaimStep& a, const ClaimStep& b) { return a.claim < b.claim; });
  return steps;
}

bool VolumeBook::claim_taken(const Needs& needs, const Uids& removed) const {
  return std::any_of(needs.exclusive.begin(), needs.exclusive.end(), [&](const auto& claim) {
    const auto use = uses_.find(claim);
    if (use == uses_.end()) return false;
    const Uids& direct = use->second.direct;
    return std::any_of(direct.begin(), direct.end(), [&](const std::string& uid) {
      return uid != needs.pod->uid && !removed.contains(uid);
    });
  });
}

bool VolumeBook::in_use(const Needs& needs, const NodeSpec& node, const Uids& removed) const {
  if (claim_taken(needs, removed)) return true;
  const auto& mine = needs.pod->around.disks;
  if (mine.empty()) return false;
  const auto load = loads_.find(node.name);
  if (load == loads_.end()) return false;
  return std::any_of(mine.begin(), mine.end(), [&](const Disk& disk) {
    auto at = load->second.disks.lower_bound(disk.id);
    for (; at != load->second.disks.end() && at->first == disk.id; ++at) {
      const std::string& uid = at->second.uid;
      if (uid == needs.pod->uid || removed.contains(uid)) continue;
      if (clash(disk, at->second.disk)) return true;
    }
    return false;
  });
}

std::int64_t VolumeBook::own_uses(const PodSpec& pod, const std::string& node,
                                  const Mount& mount) const {
  const auto guest = guests_.find(pod.uid);
  if (guest == guests_.end() || guest->second.node != node) return 0;
  std::int64_t uses = 0;
  for (const auto& [claim, direct] : guest->second.claims) {
    if (uses_.at(claim).as == mount) ++uses;
  }
  return uses;
}

std::map<VolumeBook::Mount, std::int64_t> VolumeBook::uses_by(const Uids& uids,
                                                              const std::string& node) const {
  std::map<Mount, std::int64_t> uses;
  for (const std::string& uid : uids) {
    const auto guest = guests_.find(uid);
    if (guest == guests_.end() || guest->second.node != node) continue;
    for (const auto& [claim, direct] : guest->second.claims) ++uses[uses_.at(claim).as];
  }
  return uses;
}

bool VolumeBook::over_limit(const Needs& needs, const NodeSpec& node, const Uids& removed) const {
  const auto limits = limits_.find(node.name);
  if (limits == limits_.end() || limits->second.most.empty()) return false;
  std::set<Mount> wanted;
  for (const auto* claims : {&needs.bound, &needs.waiting}) {
    for (const Claim* claim : *claims) {
      Mount mount = mount_of(*claim);
      const bool counts = !mount.handle.empty() && limits->second.most.contains(mount.driver);
      if (counts) wanted.insert(std::move(mount));
    }
  }
  if (wanted.empty()) return false;
  const auto found = loads_.find(node.name);
  const Load empty;
  const Load& load = found == loads_.end() ? empty : found->second;
  const auto away = uses_by(removed, node.name);
  const auto users_of = [&](const Mount& mount) {
    const auto there = load.mounts.find(mount);
    const auto gone = away.find(mount);
    return (there == load.mounts.end() ? 0 : there->second.all()) -
           (gone == away.end() ? 0 : gone->second);
  };
  std::map<std::string, std::int64_t> total;  // with the pod, of drivers that get something new
  for (const auto& mount : wanted) {
    const std::int64_t users = users_of(mount);
    if (users > own_uses(*needs.pod, node.name, mount)) continue;  // others have it there anyway
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
    return entry.second > limits->second.most.at(entry.first);
  });
}

bool VolumeBook::reaches_bound(const Needs& needs, const NodeSpec& node) const {
  if (needs.bound.empty()) return true;
  const bool zoned = has_zone(node);
  return std::all_of(needs.bound.begin(), needs.bound.end(), [&](const Claim* claim) {
    const Volume& volume = volumes_.at(claim->volume);
    if (!reaches(volume, node)) return false;
    // Zones are not asked of claims that were made for the pod: VolumeZone does not know them.
    return !zoned || in_zone(volume, node) || !uses_directly(*needs.pod, *claim);
  });
}

// What another pod on its way does with the claim: this pod can but follow.
const VolumeBook::Hold* VolumeBook::hold_of(const Claim& claim, const PodSpec& asker) const {
  const auto found = holds_.find(claim.name);
  if (found == holds_.end()) return nullptr;
  for (const auto& [uid, hold] : found->second) {
    if (uid != asker.uid) return &hold;
  }
  return nullptr;
}

bool VolumeBook::held_for_another(const std::string& volume, const Claim& claim,
                                  const PodSpec& asker) const {
  const auto found = held_.find(volume);
  return found != held_.end() &&
         std::any_of(found->second.begin(), found->second.end(), [&](const Holder& holder) {
           return holder.uid != asker.uid && holder.claim != claim.name;
         });
}

// Volumes that name the claim, or that another pod is about to bind to it.
std::vector<const Volume*> VolumeBook::promised(const Claim& claim, const PodSpec& asker) const {
  std::vector<const Volume*> volumes;
  const auto fits = [&](const Volume& volume) {
    return volume.storage_class == claim.storage_class && volume.bytes >= claim.bytes &&
           volume.block == claim.block && !volume.deleting;
  };
  if (const auto named = volumes_for_.find(claim.name); named != volumes_for_.end()) {
    for (const auto& name : named->second) {
      const Volume& volume = volumes_.at(name);
      const bool same = volume.claim_uid.empty() || volume.claim_uid == claim.uid;
      if (same && fits(volume)) volumes.push_back(&volume);
    }
  }
  if (const Hold* hold = hold_of(claim, asker); hold != nullptr) {
    const auto held = volumes_.find(hold->volume);
    const bool free = held != volumes_.end() && held->second.claim.empty();
    if (free && fits(held->second)) volumes.push_back(&held->second);
  }
  std::sort(volumes.begin(), volumes.end(),
            [](const Volume* a, const Volume* b) { return smaller(*a, *b); });
  return volumes;
}

const Volume* VolumeBook::volume_for(const Claim& claim, const PodSpec& asker, const NodeSpec& node,
                                     const Chosen& chosen) const {
  const auto taken = [&](const std::string& name) {
    return chosen.contains(name) || held_for_another(name, claim, asker);
  };
  bool promise = false;
  for (const Volume* volume : promised(claim, asker)) {
    if (taken(volume->name)) continue;
    if (reaches(*volume, node)) return volume;
    promise = true;
  }
  if (promise) return nullptr;  // it is to have that one, and no other
  const auto of_class = free_volumes_.find(claim.storage_class);
  if (of_class == free_volumes_.end()) return nullptr;
  const auto accepts = [&](const std::string& name) {
    const Volume& volume = volumes_.at(name);
    return volume.block == claim.block && all_modes(claim, volume) && !taken(name) &&
           (!claim.selector || matches(*claim.selector, volume.labels)) && reaches(volume, node);
  };
  const std::string* best = of_class->second.smallest(node.labels, claim.bytes, accepts);
  return best == nullptr ? nullptr : &volumes_.at(*best);
}

bool VolumeBook::can_be_made(const Claim& claim, const NodeSpec& node) const {
  const auto found = classes_.find(claim.storage_class);
  if (found == classes_.end()) return false;
  const StorageClass& storage_class = found->second;
  if (storage_class.provisioner.empty() || storage_class.provisioner == kNoProvisioner) {
    return false;
  }
  if (!storage_class.topologies.empty() && !any_matches(storage_class.topologies, node)) {
    return false;
  }
  const auto driver = drivers_.find(storage_class.provisioner);
  if (driver == drivers_.end() || !driver->second.tells_capacity || claim.bytes <= 0) return true;
  const auto pools = pools_.find(storage_class.name);
  if (pools == pools_.end()) return false;
  const auto reached = [&](const std::string& name) {
    return matches(*capacities_.at(name).nodes, node.labels);
  };
  return pools->second.smallest(node.labels, claim.bytes, reached) != nullptr;
}

std::optional<std::vector<ClaimStep>> VolumeBook::steps_on(const Needs& needs,
                                                           const NodeSpec& node) const {
  std::vector<const Claim*> to_match;
  std::vector<const Claim*> to_make;
  for (const Claim* claim : needs.waiting) {
    const Hold* hold = hold_of(*claim, *needs.pod);
    const bool making = hold != nullptr && hold->volume.empty();
    const std::string& selected =
        claim->selected_node.empty() && making ? hold->node : claim->selected_node;
    if (!selected.empty() && selected != node.name) return std::nullopt;
    (selected.empty() ? to_match : to_make).push_back(claim);
  }
  std::sort(to_match.begin(), to_match.end(), [](const Claim* a, const Claim* b) {
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->name < b->name;
  });
  std::vector<ClaimStep> steps;
  Chosen chosen;
  for (const Claim* claim : to_match) {
    const Volume* volume = volume_for(*claim, *needs.pod, node, chosen);
    if (volume == nullptr) {
      to_make.push_back(claim);
      continue;
    }
    chosen.insert(volume->name);
    steps.push_back({.claim = claim->name, .volume = volume->name});
  }
  for (const Claim* claim : to_make) {
    if (!can_be_made(*claim, node)) return std::nullopt;
    steps.push_back({.claim = claim->name, .volume = {}});
  }
  return steps;
}

}  // namespace stowage::core
