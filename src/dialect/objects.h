// The parts of Kubernetes objects that scheduling uses, as plain data in the terms of the API.
// src/codec creates them from JSON; the dialects and the servers read them. Nothing here is
// validated: amounts may be absurd, annotations forged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "core/model/pod_constraints.h"
#include "core/model/rules.h"

namespace stowage::dialect {

using Quantities = std::map<std::string, base::Quantity>;  // by resource name
using Annotations = std::map<std::string, std::string>;
inline constexpr std::size_t kMaxAnnotations = 512;  // of a pod or a node

struct ContainerObject {
  std::string name;
  bool init = false;
  bool sidecar = false;  // an init container with restartPolicy Always
  Quantities requests;   // as defaulted by the API server
  Quantities limits;
  // For a pod on a node: what the kubelet has allocated to the container. It may exceed the
  // requests during a resize.
  Quantities given;
  // The requested resize is infeasible, so only the allocated amounts count. Cards are an
  // exception, because they are not resized.
  bool only_given = false;
  friend bool operator==(const ContainerObject&, const ContainerObject&) = default;
};

// One field for each part of a pod that is read from the API.
struct PodObject {
  std::string ns;
  std::string name;
  std::string uid;
  std::string resource_version;
  Annotations annotations;
  bool deleting = false;                 // has a deletionTimestamp
  std::string created;                   // creationTimestamp, as written
  std::vector<std::string> owner_kinds;  // of ownerReferences, e.g. "ReplicaSet"

  std::string scheduler;  // spec.schedulerName
  std::string node;       // spec.nodeName
  std::string phase;      // status.phase
  std::string started;    // status.startTime, as written; empty: not yet
  std::string nominated;  // status.nominatedNodeName
  std::int32_t priority = 0;
  bool has_priority = false;    // spec.priority is set
  bool never_preempts = false;  // preemptionPolicy: Never
  std::vector<std::string> gates;
  core::NodeRules rules;
  core::PodConstraints constraints;         // its labels, and its demands besides the node
  std::vector<ContainerObject> containers;  // init containers first, in their order
  Quantities pod_requests;                  // spec.resources.requests: pod-level requests
  Quantities overhead;
  // Hard scheduling rules of the pod that no field above represents, in words, e.g. "resource
  // claims". Such a pod is not placed.
  std::vector<std::string> unsupported;
  // If its rules exceed a limit (core/model/limits.h), the message about it. The rules are cut as
  // in core::cut_rules().
  std::string over_limit;
  // The PodScheduled condition, if it is False.
  std::string unscheduled_reason;
  std::string unscheduled_message;
  std::string unscheduled_since;  // its lastTransitionTime, as written
  std::string scheduled_since;    // the same if it is True

  // Succeeded or Failed: its containers no longer run.
  [[nodiscard]] bool ended() const { return phase == "Succeeded" || phase == "Failed"; }
  friend bool operator==(const PodObject&, const PodObject&) = default;
};

struct NodeObject {
  std::string name;
  std::string uid;
  std::string resource_version;
  core::Labels labels;
  Annotations annotations;
  std::vector<core::Taint> taints;
  bool unschedulable = false;
  Quantities capacity;
  Quantities allocatable;
  friend bool operator==(const NodeObject&, const NodeObject&) = default;
};

}  // namespace stowage::dialect
