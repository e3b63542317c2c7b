// Rules of a pod about nodes, and of a node about pods: selectors, node affinity, taints and
// tolerations, in the terms of the Kubernetes API.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stowage::core {

using Labels = std::map<std::string, std::string>;

enum class TaintEffect : std::uint8_t { no_schedule, prefer_no_schedule, no_execute };

struct Taint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::no_schedule;
  friend bool operator==(const Taint&, const Taint&) = default;
};

struct Toleration {
  enum class Op : std::uint8_t { equal, exists };
  std::string key;  // empty with `exists`: every key
  Op op = Op::equal;
  std::string value;                  // of `equal`
  std::optional<TaintEffect> effect;  // unset: every effect
  friend bool operator==(const Toleration&, const Toleration&) = default;
};

struct Requirement {
  enum class Op : std::uint8_t { in, not_in, exists, does_not_exist, gt, lt };
  std::string key;
  Op op = Op::in;
  std::vector<std::string> values;
  friend bool operator==(const Requirement&, const Requirement&) = default;
};

// All requirements must hold. `fields` refer to the node itself; metadata.name is the only key. A
// term without requirements matches no node.
struct NodeTerm {
  std::vector<Requirement> labels;
  std::vector<Requirement> fields;
  friend bool operator==(const NodeTerm&, const NodeTerm&) = default;
};

struct PreferredNodes {
  std::int32_t weight = 1;  // 1..100
  NodeTerm term;
  friend bool operator==(const PreferredNodes&, const PreferredNodes&) = default;
};

struct NodeRules {
  Labels selector;                                // all must match
  std::optional<std::vector<NodeTerm>> required;  // one must match; an empty list matches no node
  std::vector<PreferredNodes> preferred;
  std::vector<Toleration> tolerations;
  friend bool operator==(const NodeRules&, const NodeRules&) = default;
};

// The taint of a cordoned node.
inline constexpr const char* kUnschedulableTaint = "node.kubernetes.io/unschedulable";

[[nodiscard]] bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint);
// The first taint of the node that excludes the pod (no_schedule, no_execute); null if none.
[[nodiscard]] const Taint* untolerated(const std::vector<Toleration>& tolerations,
                                       const std::vector<Taint>& taints);
// nodeSelector and required node affinity.
[[nodiscard]] bool selects(const NodeRules& rules, const std::string& node, const Labels& labels);
[[nodiscard]] bool matches(const NodeTerm& term, const std::string& node, const Labels& labels);
// Appends a key; equal keys mean equal hard rules. Preferences are not part of it.
void append_key(const NodeRules& rules, std::string& out);

}  // namespace stowage::core
