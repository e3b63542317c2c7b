// The wire format between kube-scheduler and its extenders (extender/v1). Keys of the envelope are
// matched without regard to case, since old schedulers wrote them small; the pods and nodes inside
// are ordinary Kubernetes JSON. Null means absent, unknown keys are skipped, of a repeated key the
// last counts; what has the wrong type or is too much is an error that names the place. Answers are
// written with capitals.
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

// A node as it came, not decoded: filter sends it back as it is. Only its name was looked at.
struct RawNode {
  std::string name;       // never empty
  std::string_view json;  // a view into the body
};

// The body of filter and prioritize. At most one of the two lists is set; a body with both is an
// error. No name is empty.
struct ExtenderArgs {
  std::optional<dialect::PodObject> pod;
  std::optional<std::vector<std::string>> node_names;
  std::optional<std::vector<RawNode>> nodes;
  std::string_view pod_json;  // the pod as it came, a view into the body; empty if there is none
};

struct BindingArgs {
  std::string pod_name;
  std::string pod_namespace;
  std::string pod_uid;  // the only one that may be empty
  std::string node;
  friend bool operator==(const BindingArgs&, const BindingArgs&) = default;
};

struct Victims {
  std::vector<std::string> uids;         // none of them empty
  std::vector<dialect::PodObject> pods;  // of the full form, in the order of uids; else empty
  std::int64_t pdb_violations = 0;
  friend bool operator==(const Victims&, const Victims&) = default;
};
// The body of preempt. The full form counts before the short one where a body has both.
struct PreemptionArgs {
  std::optional<dialect::PodObject> pod;
  std::map<std::string, Victims> victims;  // by node
  bool given = false;                      // one of the two maps was there, perhaps empty
};

// What an extender has answered, for whoever stands before it. Other extenders may write keys small
// and leave out what is empty.
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

// Keeps one parser and its buffers. Not thread-safe. Views live as long as the body.
class ExtenderDecoder {
 public:
  [[nodiscard]] Result<ExtenderArgs> args(std::string_view body);
  // The same without a copy of the body, which may be many megabytes. The body may be moved to get
  // room behind its end; its text stays.
  [[nodiscard]] Result<ExtenderArgs> args(std::string& body);
  [[nodiscard]] Result<BindingArgs> binding(std::string_view body);
  [[nodiscard]] Result<PreemptionArgs> preemption(std::string_view body);
  // The answers to filter and prioritize. That to preempt is read by preemption().
  [[nodiscard]] Result<FilterAnswer> filter_answer(std::string_view body);
  [[nodiscard]] Result<std::vector<NodeScore>> priorities(std::string_view body);

 private:
  JsonText text_;
};

// The body of filter and prioritize once more, e.g. with fewer nodes: the pod is written as it
// came.
[[nodiscard]] std::string encode_args(const ExtenderArgs& args);

using Reasons = std::vector<std::pair<std::string_view, std::string_view>>;  // node, short phrase

// What filter answers. Set the list that the ask had; a list that is not set is written as null.
// Names and words may be anything; what is not UTF-8 is replaced.
struct FilterResult {
  const std::vector<std::string_view>* node_names = nullptr;
  const std::vector<std::string_view>* nodes = nullptr;  // the JSON of each, written as it is
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
// Always the short form.
[[nodiscard]] std::string encode_preemption_result(const std::map<std::string, Victims>& victims);

}  // namespace stowage::codec
