// Pieces of Kubernetes objects that occur in several of them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json_in.h"
#include "core/model/around.h"
#include "core/model/limits.h"
#include "dialect/objects.h"

namespace stowage::codec {

// The most that one object, and one page of a list, may have. The API server stores no object over
// 1.5 MiB by default.
inline constexpr std::size_t kMaxObjectBytes = std::size_t{16} << 20U;
inline constexpr std::size_t kMaxTexts = core::kMaxRuleBytes / core::kBytesPerEntry;
inline constexpr std::size_t kMaxListBytes = std::size_t{1} << 30U;

// Lists are read up to one entry more than the limit of their kind (core/model/limits.h), so that
// nobody's object is large in memory, and whoever asks can see that there were more.
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
  std::string controller_uid;  // of the owner that controls it; empty: none
};
[[nodiscard]] Status read_metadata(JsonValue& value, Metadata& out);

// The fields of a pod, to their end.
[[nodiscard]] Result<dialect::PodObject> read_pod(JsonFields& fields);

// What can not be expressed goes to `unsupported`, in words.
using Unsupported = std::vector<std::string>;
inline constexpr std::size_t kMaxUnsupported = 8;  // further ones are not told
[[nodiscard]] Status read_node_affinity(JsonValue& value, core::NodeRules& rules,
                                        Unsupported& unsupported);
[[nodiscard]] Status read_tolerations(JsonValue& value, core::NodeRules& rules,
                                      Unsupported& unsupported);
[[nodiscard]] Status read_taints(JsonValue& value, std::vector<core::Taint>& taints);
// A NodeSelector: one of its terms.
[[nodiscard]] Status read_node_selector(JsonValue& value, std::vector<core::NodeTerm>& terms,
                                        Unsupported& unsupported);
// A LabelSelector that is there: matchLabels and matchExpressions.
[[nodiscard]] Status read_label_selector(JsonValue& value, core::LabelSelector& out,
                                         Unsupported& unsupported);

}  // namespace stowage::codec
