// What a pod demands of its surroundings besides the node itself: other pods near by or far off,
// ports of the host, volumes. In the words of the Kubernetes API, with its defaults filled in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/rules.h"

namespace stowage::core {

// Labels that satisfy all requirements (in, not_in, exists, does_not_exist). One that is absent in
// the API matches nothing; an empty one matches everything.
struct LabelSelector {
  std::vector<Requirement> all;
  bool nothing = false;
  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;
};
[[nodiscard]] bool matches(const LabelSelector& selector, const Labels& labels);

// One term of inter-pod affinity or anti-affinity. The pods it speaks of are those that the
// selector matches, in one of the namespaces (listed, or matched by the selector of namespaces; an
// API object that names neither means the namespace of its own pod, and that is filled in here).
struct PodTerm {
  LabelSelector selector;
  std::vector<std::string> namespaces;
  std::optional<LabelSelector> namespace_selector;
  std::string topology_key;
  std::int32_t weight = 0;  // 1..100 of a preferred term
  friend bool operator==(const PodTerm&, const PodTerm&) = default;
};

// One topology spread constraint. matchLabelKeys are merged into the selector already.
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

// A disk named in the pod itself, which pods of one node may not share, or only for reading.
struct Disk {
  enum class Kind : std::uint8_t { gce, aws, iscsi, rbd };
  Kind kind = Kind::gce;
  // What makes it the same disk: the name, the volume id, the IQN, or pool and image. Monitors of
  // rbd are apart: one in common is enough.
  std::string id;
  std::vector<std::string> monitors;
  bool read_only = false;
  friend bool operator==(const Disk&, const Disk&) = default;
};

// A persistent volume claim that the pod uses, in the pod's namespace.
struct ClaimUse {
  std::string name;
  bool ephemeral = false;  // made for this pod: it must own the claim
  friend bool operator==(const ClaimUse&, const ClaimUse&) = default;
};

struct Around {
  Labels labels;  // of the pod: what the selectors of others match
  std::vector<PodTerm> affinity;
  std::vector<PodTerm> anti_affinity;
  std::vector<PodTerm> preferred;
  std::vector<PodTerm> preferred_anti;
  std::vector<SpreadRule> spread;
  std::vector<HostPort> ports;
  std::vector<ClaimUse> claims;
  std::vector<Disk> disks;

  // Does it demand anything hard, or wish for anything?
  [[nodiscard]] bool demands() const {
    return !affinity.empty() || !anti_affinity.empty() || !spread.empty() || !ports.empty() ||
           !claims.empty() || !disks.empty();
  }
  [[nodiscard]] bool prefers() const { return !preferred.empty() || !preferred_anti.empty(); }
  friend bool operator==(const Around&, const Around&) = default;
};

// Equal text, equal demands and wishes (labels included). Appends to `out`.
void append_key(const Around& around, std::string& out);
void append_key(const LabelSelector& selector, std::string& out);
void append_key(const PodTerm& term, std::string& out);  // without its weight

}  // namespace stowage::core
