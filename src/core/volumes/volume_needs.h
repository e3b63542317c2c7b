// What the claims of a pod mean now. Looked up once per decision; valid until the store changes.
#pragma once

#include <string>
#include <vector>

#include "core/model/pod.h"
#include "core/model/storage.h"
#include "core/volumes/volume_store.h"

namespace stowage::core {

struct VolumeNeeds {
  std::string trouble;                 // set: no node will do; says why, in words for a person
  std::vector<const Claim*> bound;     // to a volume that exists
  std::vector<const Claim*> waiting;   // for their first consumer
  std::vector<std::string> exclusive;  // ReadWriteOncePod claims among them, "namespace/name"
  const PodSpec* pod = nullptr;
  [[nodiscard]] bool any() const { return pod != nullptr; }
};

[[nodiscard]] VolumeNeeds volume_needs(const PodSpec& pod, const VolumeStore& store);

// "namespace/name"
[[nodiscard]] std::string claim_name(const PodSpec& pod, const ClaimUse& use);

// Does the pod use this claim of its in its own right, and not only as one that was made for it?
[[nodiscard]] bool uses_directly(const PodSpec& pod, const Claim& claim);

}  // namespace stowage::core
