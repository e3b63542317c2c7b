// What a pod says about the nodes it accepts, and what a node says about the pods it takes:
// selectors, node affinity, taints and tolerations, in the words of the Kubernetes API.
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

// All requirements hold. `fields` speak of the node itself: metadata.name is the only key.
// A term without any requirement matches no node.
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
  Labels selector;                                // all of them
  std::optional<std::vector<NodeTerm>> required;  // one of them; an empty list matches no node
  std::vector<PreferredNodes> preferred;
  std::vector<Toleration> tolerations;
  friend bool operator==(const NodeRules&, const NodeRules&) = default;
};

// The taint that keeps pods off a cordoned node unless they tolerate it.
inline constexpr const char* kUnschedulableTaint = "node.kubernetes.io/unschedulable";

[[nodiscard]] bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint);
// The first taint of the node that keeps the pod off (no_schedule, no_execute); null if none.
[[nodiscard]] const Taint* untolerated(const std::vector<Toleration>& tolerations,
                                       const std::vector<Taint>& taints);
// nodeSelector and required node affinity.
[[nodiscard]] bool selects(const NodeRules& rules, const std::string& node, const Labels& labels);
[[nodiscard]] bool matches(const NodeTerm& term, const std::string& node, const Labels& labels);
// Equal text, equal rules about where a pod may go; preferences are not part of it. Appends.
void append_key(const NodeRules& rules, std::string& out);

}  // namespace stowage::core
