// Small writes to objects that are there: what the API server is sent to evict a pod, to nominate
// one, and to bind its volume claims.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/json_in.h"

namespace stowage::codec {

// Strategic merge patch of pods/<name>/status: the condition DisruptionTarget says that the
// scheduler is about to delete the pod, so that its controller does not take it for a failure.
struct DisruptionAsk {
  std::string uid;  // the patch is refused if the pod is another one by now
  std::string message;
  std::int64_t unix_seconds = 0;  // of the transition
};
[[nodiscard]] std::string disruption_patch(const DisruptionAsk& ask);

// Body of a DELETE that touches this object alone, with the grace that it asks for itself.
[[nodiscard]] std::string delete_options(std::string_view uid);

// Merge patch of pods/<name>/status: status.nominatedNodeName; an empty node removes it.
[[nodiscard]] std::string nomination_patch(std::string_view uid, std::string_view node);

// Merge patch of a claim: the node for which its provisioner shall make a volume; an empty node
// removes it.
[[nodiscard]] std::string selected_node_patch(std::string_view uid, std::string_view node);

struct ClaimName {
  std::string ns;
  std::string name;
  std::string uid;
  friend bool operator==(const ClaimName&, const ClaimName&) = default;
};

// Merge patch of a volume: it is for this claim. Refused by the server if the volume has changed
// since the given version.
struct ClaimRefAsk {
  std::string volume_version;  // metadata.resourceVersion that was read
  ClaimName claim;
  bool by_us = true;  // false: whoever made the volume has named the claim already
};
[[nodiscard]] std::string claim_ref_patch(const ClaimRefAsk& ask);

// Whom a volume is for.
struct VolumeOwner {
  std::string resource_version;
  bool claimed = false;  // spec.claimRef is there
  ClaimName claim;       // then this; the uid may be empty
  bool deleting = false;
  friend bool operator==(const VolumeOwner&, const VolumeOwner&) = default;
};
[[nodiscard]] Result<VolumeOwner> read_volume_owner(std::string_view volume_json);

}  // namespace stowage::codec
