// The reason in the condition PodScheduled=False of a pod that waits. Cluster Autoscaler and
// Karpenter add nodes for pods whose reason is Unschedulable, and for no others: it is used where
// one more node could help, and nowhere else. docs/contract.md has the table; a test compares.
#pragma once

#include <array>
#include <cstdint>

#include "core/model/reason.h"

namespace stowage::core {

enum class Condition : std::uint8_t {
  unschedulable,           // one more node could help
  quota_exceeded,          // the quota of the namespace is used up
  named_card_unavailable,  // the pod names its cards by id: no new node has them
  volume_claim_unusable,   // a claim that no node can use, or that another pod uses alone
  invalid_request,         // the pod asks for what makes no sense
  unsupported_rule,        // the pod uses a rule that Stowage does not know
};
inline constexpr std::array kConditions{
    Condition::unschedulable,         Condition::quota_exceeded,  Condition::named_card_unavailable,
    Condition::volume_claim_unusable, Condition::invalid_request, Condition::unsupported_rule};

// As the API shows it, e.g. "Unschedulable".
[[nodiscard]] const char* to_word(Condition condition);

// Which nodes that are not there yet could help against a refusal by one that is.
enum class Remedy : std::uint8_t {
  same_kind,   // one more like it, with nothing on it
  other_kind,  // one of another kind: other labels, other cards
  none,
};
[[nodiscard]] Remedy remedy(ReasonCode code);
[[nodiscard]] const char* to_word(Remedy remedy);

// What is written if this is the only reason.
[[nodiscard]] Condition condition(ReasonCode code);
// Of a refusal for several reasons: unschedulable if one more node of a kind that is there could
// help. If the quota refuses all the others, it counts, even though a node of another model might
// help: an autoscaler does not know models, and would add what the quota refuses.
[[nodiscard]] Condition condition(const Refusal& refusal);

}  // namespace stowage::core
