// The pod's demands besides the node itself: other pods, host ports and volumes. In the terms of
// the Kubernetes API, with its defaults filled in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/rules.h"

namespace stowage::core {

// Matches labels that satisfy all requirements (in, not_in, exists, does_not_exist). A selector
// that is absent in the API matches nothing; an empty one matches everything.
struct LabelSelector {
  std::vector<Requirement> all;
  bool nothing = false;
  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;
};
[[nodiscard]] bool matches(const LabelSelector& selector, const Labels& labels);

// One term of inter-pod affinity or anti-affinity. It refers to pods that the selector matches, in
// one of the namespaces: listed, or matched by the namespace selector. If the API object has
// neither, the pod's own namespace is filled in.
struct PodTerm {
  LabelSelector selector;
  std::vector<std::string> namespaces;
  std::optional<LabelSelector> namespace_selector;
  std::string topology_key;
  std::int32_t weight = 0;  // 1..100 for a preferred term
  friend bool operator==(const PodTerm&, const PodTerm&) = default;
};

// One topology spread constraint. matchLabelKeys are already merged into the selector.
struct SpreadRule {
  std::string topology_key;
  std::int32_t max_skew = 1;
  std::int32_t min_domains = 1;
  bool hard = true;             // DoNotSchedule
  bool honour_affinity = true;  // nodeAffinityPolicy: only nodes that the pod selects count
  bool honour_taints = false;   // nodeTaintsPolicy: only nodes whose taints it tolerates count
  LabelSelector selector;
  friend bool operator==(const SpreadRule&, const SpreadRule&) = default;
};

struct HostPort {
  std::string ip;        // empty or "0.0.0.0": every address of the host
  std::string protocol;  // "TCP", "UDP", "SCTP"
  std::int32_t port = 0;
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

// An inline disk of the pod that pods on one node must not share, or may share only for reading.
struct Disk {
  enum class Kind : std::uint8_t { gce, aws, iscsi, rbd };
  Kind kind = Kind::gce;
  // Identifies the disk: the name, the volume id, the IQN, or pool and image. Monitors of rbd are
  // kept apart, because one common monitor is enough.
  std::string id;
  std::vector<std::string> monitors;
  bool read_only = false;
  friend bool operator==(const Disk&, const Disk&) = default;
};

// A persistent volume claim that the pod uses, in the pod's namespace.
struct ClaimUse {
  std::string name;
  bool ephemeral = false;  // created for this pod, which must own the claim
  friend bool operator==(const ClaimUse&, const ClaimUse&) = default;
};

struct PodConstraints {
  Labels labels;  // of the pod, for the selectors of other pods
  std::vector<PodTerm> affinity;
  std::vector<PodTerm> anti_affinity;
  std::vector<PodTerm> preferred;
  std::vector<PodTerm> preferred_anti;
  std::vector<SpreadRule> spread;
  std::vector<HostPort> ports;
  std::vector<ClaimUse> claims;
  std::vector<Disk> disks;

  // True if it has any hard or soft constraint.
  [[nodiscard]] bool demands() const {
    return !affinity.empty() || !anti_affinity.empty() || !spread.empty() || !ports.empty() ||
           !claims.empty() || !disks.empty();
  }
  [[nodiscard]] bool prefers() const { return !preferred.empty() || !preferred_anti.empty(); }
  friend bool operator==(const PodConstraints&, const PodConstraints&) = default;
};

// Appends a key to `out`; equal keys mean equal constraints (labels included).
void append_key(const PodConstraints& constraints, std::string& out);
void append_key(const LabelSelector& selector, std::string& out);
void append_key(const PodTerm& term, std::string& out);  // without its weight

}  // namespace stowage::core
