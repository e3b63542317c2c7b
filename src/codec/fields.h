// Pieces of Kubernetes objects that occur in several of them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json_in.h"
#include "dialect/objects.h"

namespace stowage::codec {

// The most that one object, and one page of a list, may have. The API server stores no object over
// 1.5 MiB by default.
inline constexpr std::size_t kMaxObjectBytes = std::size_t{16} << 20U;
inline constexpr std::size_t kMaxListBytes = std::size_t{1} << 30U;

// Labels or annotations.
[[nodiscard]] Status read_texts(JsonValue& value, std::map<std::string, std::string>& out);
[[nodiscard]] Status read_quantities(JsonValue& value, dialect::Quantities& out);
[[nodiscard]] Status read_strings(JsonValue& value, std::vector<std::string>& out);

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
};
[[nodiscard]] Status read_metadata(JsonValue& value, Metadata& out);

// The fields of a pod, to their end.
[[nodiscard]] Result<dialect::PodObject> read_pod(JsonFields& fields);

// spec.affinity and spec.tolerations. What can not be expressed goes to `unsupported`, in words.
[[nodiscard]] Status read_affinity(JsonValue& value, core::NodeRules& rules,
                                   std::vector<std::string>& unsupported);
[[nodiscard]] Status read_tolerations(JsonValue& value, core::NodeRules& rules,
                                      std::vector<std::string>& unsupported);
[[nodiscard]] Status read_taints(JsonValue& value, std::vector<core::Taint>& taints);

}  // namespace stowage::codec
