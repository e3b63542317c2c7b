// The wire format between kube-scheduler and its extenders (extender/v1). Keys of the envelope are
// case-insensitive, because old schedulers wrote them in lower case; the pods and nodes inside are
// ordinary Kubernetes JSON. Null means absent, unknown keys are skipped, and the last one of a
// repeated key counts. A wrong type or an excess is an error that names the location. Answers use
// capitalized keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "codec/json_in.h"
#include "dialect/objects.h"

namespace stowage::codec {

inline constexpr std::size_t kMaxExtenderBytes = std::size_t{64} << 20U;
inline constexpr std::size_t kMaxExtenderNodes = 100'000;
inline constexpr std::size_t kMaxExtenderVictims = 100'000;  // of all nodes together

// A node as received, not decoded, because filter returns it unchanged. Only its name is read.
struct RawNode {
  std::string name;       // never empty
  std::string_view json;  // a view into the body
};

// The body of filter and prioritize. At most one of the two lists is set; a body with both is an
// error. Names are not empty.
struct ExtenderArgs {
  std::optional<dialect::PodObject> pod;
  std::optional<std::vector<std::string>> node_names;
  std::optional<std::vector<RawNode>> nodes;
  std::string_view pod_json;  // the pod as received, a view into the body; empty if missing
};

struct BindingArgs {
  std::string pod_name;
  std::string pod_namespace;
  std::string pod_uid;  // the only field that may be empty
  std::string node;
  friend bool operator==(const BindingArgs&, const BindingArgs&) = default;
};

struct Victims {
  std::vector<std::string> uids;         // not empty
  std::vector<dialect::PodObject> pods;  // for the full form, in the order of uids; else empty
  std::int64_t pdb_violations = 0;
  friend bool operator==(const Victims&, const Victims&) = default;
};
// The body of preempt. If a body has both forms, the full form counts.
struct PreemptionArgs {
  std::optional<dialect::PodObject> pod;
  std::map<std::string, Victims> victims;  // by node
  bool given = false;                      // one of the two maps was present, maybe empty
};

// The answer of another extender, for a proxy in front of it. Other extenders may use lower-case
// keys and omit empty values.
struct FilterAnswer {
  std::optional<std::vector<std::string>> node_names;
  std::optional<std::vector<RawNode>> nodes;
  std::map<std::string, std::string> failed;        // by node
  std::map<std::string, std::string> unresolvable;  // by node
  std::string error;
};
struct NodeScore {
  std::string node;
  std::int64_t score = 0;
  friend bool operator==(const NodeScore&, const NodeScore&) = default;
};

// Reuses one parser and its buffers. Not thread-safe. Views are valid as long as the body.
class ExtenderDecoder {
 public:
  [[nodiscard]] Result<ExtenderArgs> args(std::string_view body);
  // The same without a copy of the body, which may have many megabytes. The body may be reallocated
  // for padding at its end; its text is unchanged.
  [[nodiscard]] Result<ExtenderArgs> args(std::string& body);
  [[nodiscard]] Result<BindingArgs> binding(std::string_view body);
  [[nodiscard]] Result<PreemptionArgs> preemption(std::string_view body);
  // The answers to filter and prioritize. Use preemption() for the answer to preempt.
  [[nodiscard]] Result<FilterAnswer> filter_answer(std::string_view body);
  [[nodiscard]] Result<std::vector<NodeScore>> priorities(std::string_view body);

 private:
  JsonText text_;
};

// Encodes the body of filter and prioritize again, e.g. with fewer nodes; the pod is written as
// received.
[[nodiscard]] std::string encode_args(const ExtenderArgs& args);

using Reasons = std::vector<std::pair<std::string_view, std::string_view>>;  // node, short phrase

// The answer to filter. Set the same list as in the request; an unset list is written as null.
// Names and phrases may contain any bytes; invalid UTF-8 is replaced.
struct FilterResult {
  const std::vector<std::string_view>* node_names = nullptr;
  const std::vector<std::string_view>* nodes = nullptr;  // the JSON of each node, written unchanged
  Reasons failed;
  Reasons unresolvable;
  std::string error;
};
[[nodiscard]] std::string encode(const FilterResult& result);

struct HostScore {
  std::string_view host;
  std::int64_t score = 0;
};
[[nodiscard]] std::string encode_priorities(const std::vector<HostScore>& scores);
[[nodiscard]] std::string encode_binding_result(std::string_view error);
// Always in the short form.
[[nodiscard]] std::string encode_preemption_result(const std::map<std::string, Victims>& victims);

}  // namespace stowage::codec
