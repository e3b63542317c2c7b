// Small updates of existing objects: requests to evict a pod, to nominate one, and to bind its
// volume claims.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/json_in.h"
#include "dialect/node_resources.h"

namespace stowage::codec {

// Strategic merge patch of pods/<name>/status: the condition DisruptionTarget states that the
// scheduler will delete the pod, so that its controller does not count it as a failure.
struct DisruptionRequest {
  std::string uid;  // the patch is rejected if the pod has another uid
  std::string message;
  std::int64_t unix_seconds = 0;  // of the transition
};
[[nodiscard]] std::string disruption_patch(const DisruptionRequest& ask);

// Body of a DELETE for exactly this object, with its own grace period.
[[nodiscard]] std::string delete_options(std::string_view uid);

// Merge patch of pods/<name>/status: status.nominatedNodeName; an empty node removes it.
[[nodiscard]] std::string nomination_patch(std::string_view uid, std::string_view node);

// Merge patch of nodes/<name>/status: what the plan changes, and its record. The server rejects it
// if the node has changed since the version of `there`, or is another one.
[[nodiscard]] std::string node_offer_patch(const dialect::NodeOffer& there,
                                           const dialect::NodeOfferPlan& plan);

// Merge patch of a claim: the node for which its provisioner creates a volume; an empty node
// removes it.
[[nodiscard]] std::string selected_node_patch(std::string_view uid, std::string_view node);

struct ClaimName {
  std::string ns;
  std::string name;
  std::string uid;
  friend bool operator==(const ClaimName&, const ClaimName&) = default;
};

// Merge patch of a volume: reserves it for this claim. The server rejects it if the volume has
// changed since the given version.
struct ClaimRefRequest {
  std::string volume_version;  // metadata.resourceVersion as read
  ClaimName claim;
  bool by_us = true;  // false: the creator of the volume already named the claim
};
[[nodiscard]] std::string claim_ref_patch(const ClaimRefRequest& ask);

// The claim of a volume.
struct VolumeOwner {
  std::string resource_version;
  bool claimed = false;  // spec.claimRef is set
  ClaimName claim;       // if claimed; the uid may be empty
  bool deleting = false;
  friend bool operator==(const VolumeOwner&, const VolumeOwner&) = default;
};
[[nodiscard]] Result<VolumeOwner> read_volume_owner(std::string_view volume_json);

}  // namespace stowage::codec
