// The reason in the condition PodScheduled=False of a waiting pod. Cluster Autoscaler and Karpenter
// add nodes only for pods with the reason Unschedulable, so it is used exactly where one more node
// could help. docs/contract.md has the table; a test compares both.
#pragma once

#include <array>
#include <cstdint>

#include "core/model/reason.h"

namespace stowage::core {

enum class ConditionReason : std::uint8_t {
  unschedulable,           // one more node could help
  quota_exceeded,          // the quota of the namespace is used up
  named_card_unavailable,  // the pod names its cards by id: no new node has them
  volume_claim_unusable,   // a claim that no node can use, or that another pod uses exclusively
  invalid_request,         // the request is invalid
  unsupported_rule,        // the pod uses a rule that Stowage does not support
};
inline constexpr std::array kConditionReasons{
    ConditionReason::unschedulable,          ConditionReason::quota_exceeded,
    ConditionReason::named_card_unavailable, ConditionReason::volume_claim_unusable,
    ConditionReason::invalid_request,        ConditionReason::unsupported_rule};

// As the API shows it, e.g. "Unschedulable".
[[nodiscard]] const char* to_string(ConditionReason reason);

// The kind of new node that could help where an existing node refuses.
enum class Remedy : std::uint8_t {
  same_class,   // an empty node like it
  other_class,  // a node of another kind: other labels or other cards
  none,
};
[[nodiscard]] Remedy remedy(ReasonCode code);
[[nodiscard]] const char* to_string(Remedy remedy);

// The condition if this is the only reason.
[[nodiscard]] ConditionReason condition_reason(ReasonCode code);
// The condition of a refusal with several reasons: unschedulable if one more node of an existing
// kind could help. If the quota refuses all other nodes, the quota condition is used, even though a
// node with another card model might help: an autoscaler does not know models and would add nodes
// that the quota refuses.
[[nodiscard]] ConditionReason condition_reason(const Refusal& refusal);

}  // namespace stowage::core
