// The reason in the condition PodScheduled=False of a waiting pod. Cluster Autoscaler and Karpenter
// add nodes only for pods with the reason Unschedulable, so it is used exactly where one more node
// could help. docs/contract.md has the table; a test compares both.
#pragma once

#include <array>
#include <cstdint>

#include "core/model/reason.h"

namespace stowage::core {

enum class Condition : std::uint8_t {
  unschedulable,           // one more node could help
  quota_exceeded,          // the quota of the namespace is used up
  named_card_unavailable,  // the pod names its cards by id: no new node has them
  volume_claim_unusable,   // a claim that no node can use, or that another pod uses exclusively
  invalid_request,         // the request is invalid
  unsupported_rule,        // the pod uses a rule that Stowage does not support
};
inline constexpr std::array kConditions{
    Condition::unschedulable,         Condition::quota_exceeded,  Condition::named_card_unavailable,
    Condition::volume_claim_unusable, Condition::invalid_request, Condition::unsupported_rule};

// As the API shows it, e.g. "Unschedulable".
[[nodiscard]] const char* to_string(Condition condition);

// The kind of new node that could help where an existing node refuses.
enum class Remedy : std::uint8_t {
  same_kind,   // an empty node like it
  other_kind,  // a node of another kind: other labels or other cards
  none,
};
[[nodiscard]] Remedy remedy(ReasonCode code);
[[nodiscard]] const char* to_string(Remedy remedy);

// The condition if this is the only reason.
[[nodiscard]] Condition condition(ReasonCode code);
// The condition of a refusal with several reasons: unschedulable if one more node of an existing
// kind could help. If the quota refuses all other nodes, the quota condition is used, even though a
// node with another card model might help: an autoscaler does not know models and would add nodes
// that the quota refuses.
[[nodiscard]] Condition condition(const Refusal& refusal);

}  // namespace stowage::core
