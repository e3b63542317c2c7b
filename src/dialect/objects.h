// The parts of Kubernetes objects that scheduling looks at, as plain data in the words of the API.
// Made by src/codec from JSON, read by the dialects and the doors. Nothing here has been judged:
// amounts may be absurd, annotations forged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "core/model/around.h"
#include "core/model/rules.h"

namespace stowage::dialect {

using Quantities = std::map<std::string, base::Quantity>;  // by resource name
using Annotations = std::map<std::string, std::string>;
inline constexpr std::size_t kMaxAnnotations = 512;  // of a pod or a node

struct ContainerObject {
  std::string name;
  bool init = false;
  bool sidecar = false;  // an init container with restartPolicy Always
  Quantities requests;   // as the API server has defaulted them
  Quantities limits;
  // Of a pod on a node: what the kubelet has given to the container already, which may be more than
  // it asks for while it is being resized.
  Quantities given;
  // The kubelet will never give what is asked for now (a resize that is infeasible): what it has
  // given is all that counts, except for cards, which are not resized.
  bool only_given = false;
  friend bool operator==(const ContainerObject&, const ContainerObject&) = default;
};

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
  bool has_priority = false;    // spec.priority is there
  bool never_preempts = false;  // preemptionPolicy: Never
  std::vector<std::string> gates;
  core::NodeRules rules;
  core::Around around;                      // its labels, and what it demands besides the node
  std::vector<ContainerObject> containers;  // init containers first, in their order
  Quantities pod_requests;                  // spec.resources.requests: of the pod as a whole
  Quantities overhead;
  // Things the pod uses that are hard rules of scheduling and that no field above expresses, in
  // words for a person, e.g. "resource claims". Never placed by guess.
  std::vector<std::string> unsupported;
  // Its rules are over a limit (core/model/limits.h): the sentence that says so. They are cut, as
  // core::cut_rules() does it.
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
