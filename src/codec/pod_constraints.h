// The constraints of a pod while it is read. Fields may come in any order, so some parts are
// completed only after the whole pod has been read: the default namespace of terms, the labels that
// are merged into selectors, and the names of ephemeral claims.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/fields.h"
#include "codec/json_in.h"
#include "core/model/pod_constraints.h"

namespace stowage::codec {

struct TermParts {
  core::PodTerm term;
  std::vector<std::string> match_keys;  // matchLabelKeys
  std::vector<std::string> mismatch_keys;
};
struct SpreadParts {
  core::SpreadRule rule;
  std::vector<std::string> match_keys;
};

struct ConstraintParts {
  std::vector<TermParts> affinity;
  std::vector<TermParts> anti_affinity;
  std::vector<TermParts> preferred;
  std::vector<TermParts> preferred_anti;
  std::vector<SpreadParts> spread;
  std::vector<core::ClaimUse> claims;  // for an ephemeral one: the name of the volume
  std::vector<core::Disk> disks;
};

// spec.affinity: node affinity and pod affinity.
[[nodiscard]] Status read_affinity(JsonValue& value, core::NodeRules& rules, ConstraintParts& parts,
                                   Unsupported& unsupported);
[[nodiscard]] Status read_spread(JsonValue& value, ConstraintParts& parts,
                                 Unsupported& unsupported);
[[nodiscard]] Status read_volumes(JsonValue& value, ConstraintParts& parts);
// Appends the host ports of one container.
[[nodiscard]] Status read_host_ports(JsonValue& value, std::vector<core::HostPort>& ports);

// Completes the parts. Keys that the API server has already merged into a selector are not merged
// again. Ports are added by the caller.
struct PodIdentity {
  std::string_view ns;
  std::string_view name;
};
[[nodiscard]] core::PodConstraints settle(ConstraintParts parts, core::Labels labels,
                                          const PodIdentity& pod);

}  // namespace stowage::codec
