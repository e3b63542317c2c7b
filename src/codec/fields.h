// Parts that occur in several Kubernetes objects.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json_in.h"
#include "core/model/limits.h"
#include "core/model/pod_constraints.h"
#include "dialect/objects.h"

namespace stowage::codec {

// Size limits of one object and of one page of a list. By default the API server stores no object
// over 1.5 MiB.
inline constexpr std::size_t kMaxObjectBytes = std::size_t{16} << 20U;
inline constexpr std::size_t kMaxTexts = core::kMaxRuleBytes / core::kBytesPerEntry;
inline constexpr std::size_t kMaxListBytes = std::size_t{1} << 30U;

// Lists are read up to one entry beyond the limit of their kind (core/model/limits.h). So objects
// stay small in memory, and the caller can detect the excess.
//
// Labels or annotations.
[[nodiscard]] Status read_texts(JsonValue& value, std::map<std::string, std::string>& out,
                                std::size_t most = core::kMaxNodeLabels);
[[nodiscard]] Status read_quantities(JsonValue& value, dialect::Quantities& out);
[[nodiscard]] Status read_strings(JsonValue& value, std::vector<std::string>& out,
                                  std::size_t most = kMaxTexts);

struct Metadata {
  std::string ns;
  std::string name;
  std::string uid;
  std::string resource_version;
  std::string created;
  bool deleting = false;
  core::Labels labels;
  dialect::Annotations annotations;
  std::vector<std::string> owner_kinds;
  std::string controller_uid;  // of the controlling owner; empty: none
};
[[nodiscard]] Status read_metadata(JsonValue& value, Metadata& out);

// Reads the fields of a pod to the end.
[[nodiscard]] Result<dialect::PodObject> read_pod(JsonFields& fields);

// Unsupported rules are added to `unsupported`, in words.
using Unsupported = std::vector<std::string>;
inline constexpr std::size_t kMaxUnsupported = 8;  // further ones are not listed
[[nodiscard]] Status read_node_affinity(JsonValue& value, core::NodeRules& rules,
                                        Unsupported& unsupported);
[[nodiscard]] Status read_tolerations(JsonValue& value, core::NodeRules& rules,
                                      Unsupported& unsupported);
[[nodiscard]] Status read_taints(JsonValue& value, std::vector<core::Taint>& taints);
// A NodeSelector: one of its terms must match.
[[nodiscard]] Status read_node_selector(JsonValue& value, std::vector<core::NodeTerm>& terms,
                                        Unsupported& unsupported);
// A LabelSelector that is present: matchLabels and matchExpressions.
[[nodiscard]] Status read_label_selector(JsonValue& value, core::LabelSelector& out,
                                         Unsupported& unsupported);

}  // namespace stowage::codec
