#include "core/volumes/volume_needs.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/text.h"

namespace stowage::core {
namespace {

std::string quoted(const std::string& name) { return '"' + name + '"'; }

bool is_exclusive(const Claim& claim) {
  return (claim.modes & static_cast<AccessModes>(AccessMode::rwop)) != 0;
}

bool waits(const Claim& claim, const VolumeStore& store) {
  // A claim that names its volume is bound by others, whatever its class says.
  if (claim.bound || !claim.volume.empty()) return false;
  const StorageClass* storage_class = store.storage_class(claim.storage_class);
  return storage_class != nullptr && storage_class->waits;
}

// If there are several problems, the one that the plugins of the default profile find first.
std::string trouble_of(const PodSpec& pod, const VolumeStore& store) {
  const auto& uses = pod.constraints.claims;
  const auto find = [&](const ClaimUse& use) { return store.claim(claim_name(pod, use)); };
  for (const auto& use : uses) {
    if (!use.ephemeral && find(use) == nullptr) {
      return "persistentvolumeclaim " + quoted(use.name) + " not found";
    }
  }
  for (const auto& use : uses) {
    const Claim* claim = find(use);
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
    const Claim& claim = *find(use);
    if (!claim.bound && !waits(claim, store)) {
      return "pod has unbound immediate PersistentVolumeClaims";
    }
  }
  for (const auto& use : uses) {
    const Claim& claim = *find(use);
    if (claim.bound && store.volume(claim.volume) == nullptr) {
      return "persistentvolume " + quoted(claim.volume) + " not found";
    }
  }
  return {};
}

}  // namespace

std::string claim_name(const PodSpec& pod, const ClaimUse& use) {
  std::string name(namespace_of(pod.name));
  name += '/';
  name += use.name;
  return name;
}

bool uses_directly(const PodSpec& pod, const Claim& claim) {
  const std::string_view name = base::split_name(claim.name).name;
  return std::any_of(pod.constraints.claims.begin(), pod.constraints.claims.end(),
                     [&](const ClaimUse& use) { return !use.ephemeral && use.name == name; });
}

VolumeNeeds volume_needs(const PodSpec& pod, const VolumeStore& store) {
  VolumeNeeds needs;
  if (pod.constraints.claims.empty() && pod.constraints.disks.empty()) return needs;
  needs.pod = &pod;
  needs.trouble = trouble_of(pod, store);
  if (!needs.trouble.empty()) return needs;
  std::set<std::string> seen;
  for (const auto& use : pod.constraints.claims) {
    const Claim& claim = *store.claim(claim_name(pod, use));
    if (!seen.insert(claim.name).second) continue;  // mounted twice
    (claim.bound ? needs.bound : needs.waiting).push_back(&claim);
    if (is_exclusive(claim) && uses_directly(pod, claim)) needs.exclusive.push_back(claim.name);
  }
  return needs;
}

}  // namespace stowage::core
