// What a pod demands of its surroundings, while it is being read. Some of it can only be completed
// once the whole pod is known, in whatever order its fields come: the namespace that terms mean
// when they name none, the labels whose values are merged into selectors, the names of claims that
// are made for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/fields.h"
#include "codec/json_in.h"
#include "core/model/around.h"

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

struct AroundParts {
  std::vector<TermParts> affinity;
  std::vector<TermParts> anti_affinity;
  std::vector<TermParts> preferred;
  std::vector<TermParts> preferred_anti;
  std::vector<SpreadParts> spread;
  std::vector<core::ClaimUse> claims;  // of an ephemeral one: the name of the volume
  std::vector<core::Disk> disks;
};

// spec.affinity: the part about nodes, and the part about pods.
[[nodiscard]] Status read_affinity(JsonValue& value, core::NodeRules& rules, AroundParts& parts,
                                   Unsupported& unsupported);
[[nodiscard]] Status read_spread(JsonValue& value, AroundParts& parts, Unsupported& unsupported);
[[nodiscard]] Status read_volumes(JsonValue& value, AroundParts& parts);
// The ports of one container that are ports of the host too; appends.
[[nodiscard]] Status read_host_ports(JsonValue& value, std::vector<core::HostPort>& ports);

// Completes the parts. Keys that the API server has merged into a selector already are not merged
// a second time. Ports are left to the caller.
struct PodIdentity {
  std::string_view ns;
  std::string_view name;
};
[[nodiscard]] core::Around settle(AroundParts parts, core::Labels labels, const PodIdentity& pod);

}  // namespace stowage::codec
