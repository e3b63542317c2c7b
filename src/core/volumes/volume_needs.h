// The current state of a pod's claims. Looked up once per decision; valid until the store changes.
#pragma once

#include <string>
#include <vector>

#include "core/model/pod.h"
#include "core/model/storage.h"
#include "core/volumes/volume_store.h"

namespace stowage::core {

struct VolumeNeeds {
  std::string trouble;                 // if not empty, no node can take the pod; the text says why
  std::vector<const Claim*> bound;     // to an existing volume
  std::vector<const Claim*> waiting;   // for their first consumer
  std::vector<std::string> exclusive;  // ReadWriteOncePod claims among them, "namespace/name"
  const PodSpec* pod = nullptr;
  [[nodiscard]] bool any() const { return pod != nullptr; }
};

[[nodiscard]] VolumeNeeds volume_needs(const PodSpec& pod, const VolumeStore& store);

// "namespace/name"
[[nodiscard]] std::string claim_name(const PodSpec& pod, const ClaimUse& use);

// True if the pod uses this claim directly, not only as an ephemeral claim.
[[nodiscard]] bool uses_directly(const PodSpec& pod, const Claim& claim);

}  // namespace stowage::core
