// Storage objects of the API, as far as the placement of pods depends on them. Names of claims are
// "namespace/name". Amounts are in bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/model/pod_constraints.h"
#include "core/model/rules.h"

namespace stowage::core {

// ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod: a set of bits.
enum class AccessMode : std::uint8_t { rwo = 1, rox = 2, rwx = 4, rwop = 8 };
using AccessModes = std::uint8_t;

struct Claim {
  std::string name;
  std::string uid;
  std::string owner_uid;  // of the pod that an ephemeral claim was created for; empty: none
  std::string volume;     // spec.volumeName
  std::string storage_class;
  bool has_class = false;  // storageClassName is set, even if it is empty
  bool bound = false;      // volume is set, and the binding is complete
  bool lost = false;       // phase Lost
  bool deleting = false;
  bool block = false;         // volumeMode: Block
  std::string selected_node;  // the annotation
  std::int64_t bytes = 0;     // requested
  AccessModes modes = 0;
  std::optional<LabelSelector> selector;  // of volumes
  friend bool operator==(const Claim&, const Claim&) = default;
};

struct Volume {
  std::string name;
  std::string storage_class;
  std::string claim;      // "namespace/name" of claimRef; empty: free
  std::string claim_uid;  // empty while the volume is only pre-bound
  bool available = true;  // phase Available
  bool deleting = false;
  bool block = false;
  std::int64_t bytes = 0;
  AccessModes modes = 0;
  Labels labels;                                  // including zones
  std::optional<std::vector<NodeTerm>> affinity;  // nodeAffinity.required; one must match
  std::string driver;                             // CSI driver; empty: not CSI
  std::string handle;
  friend bool operator==(const Volume&, const Volume&) = default;
};

struct StorageClass {
  std::string name;
  std::string provisioner;
  bool waits = false;  // volumeBindingMode: WaitForFirstConsumer
  // allowedTopologies: one of the terms must match; each requirement is `in`. Empty: everywhere.
  std::vector<NodeTerm> topologies;
  friend bool operator==(const StorageClass&, const StorageClass&) = default;
};

// A CSI driver (CSIDriver), and the capacity of a part of the cluster (CSIStorageCapacity).
struct StorageDriver {
  std::string name;
  bool tells_capacity = false;  // spec.storageCapacity
  friend bool operator==(const StorageDriver&, const StorageDriver&) = default;
};
struct StorageCapacity {
  std::string name;  // "namespace/name" of the object
  std::string storage_class;
  std::optional<LabelSelector> nodes;  // nodeTopology; unset: no node
  std::int64_t bytes = 0;
  std::optional<std::int64_t> largest;  // maximumVolumeSize
  friend bool operator==(const StorageCapacity&, const StorageCapacity&) = default;
};

// CSINode: how many volumes of each driver may be attached to the node. A driver without a count
// has no limit.
struct NodeVolumeLimits {
  std::string node;
  std::map<std::string, std::int32_t> most;  // by driver
  friend bool operator==(const NodeVolumeLimits&, const NodeVolumeLimits&) = default;
};

// VolumeAttachment: this volume is attached to the node, regardless of its users.
struct Attachment {
  std::string name;
  std::string node;
  std::string driver;
  std::string volume;  // name of the persistent volume
  friend bool operator==(const Attachment&, const Attachment&) = default;
};

// PodDisruptionBudget: how many of the selected pods may be evicted now.
struct Budget {
  std::string name;  // "namespace/name"
  LabelSelector selector;
  std::int32_t allowed = 0;            // status.disruptionsAllowed
  std::vector<std::string> disrupted;  // names in status.disruptedPods
  friend bool operator==(const Budget&, const Budget&) = default;
};

struct Namespace {
  std::string name;
  Labels labels;
  friend bool operator==(const Namespace&, const Namespace&) = default;
};

}  // namespace stowage::core
