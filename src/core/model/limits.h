// Limits on what a pod may specify, so that no pod can make the scheduler slow or large for others.
// The API server has no such limits: a pod may have thousands of terms. All limits are far above
// what real pods have.
//
// A pending pod over a limit is rejected with a message. A pod that is already on a node, or that
// another scheduler places, is still charged for all its requests, but its rules are cut
// (cut_to_limits).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/result.h"
#include "core/model/node.h"
#include "core/model/pod.h"
#include "core/model/pod_constraints.h"
#include "core/model/rules.h"

namespace stowage::core {

inline constexpr std::size_t kMaxContainers = 256;
inline constexpr std::size_t kMaxCardContainers = 64;  // with cards
inline constexpr std::size_t kMaxFilterEntries = 256;  // of one list of models or card ids
inline constexpr std::size_t kMaxLabels = 128;
inline constexpr std::size_t kMaxPodTerms =
    64;  // required and preferred, affinity and anti-affinity together
inline constexpr std::size_t kMaxSpreadRules = 32;
inline constexpr std::size_t kMaxNodeTerms = 128;  // required and preferred
inline constexpr std::size_t kMaxTolerations = 128;
inline constexpr std::size_t kMaxHostPorts = 128;
inline constexpr std::size_t kMaxVolumes = 128;  // claims
inline constexpr std::size_t kMaxDisks = 32;     // inline in the pod
inline constexpr std::size_t kMaxResourceNames = 64;
// Resource names of a pod on a node: beyond this number, in alphabetical order, names are ignored.
inline constexpr std::size_t kMaxBoundResourceNames = 256;
// Labels and rules together: their characters, plus kBytesPerEntry per list entry.
inline constexpr std::size_t kMaxRuleBytes = std::size_t{32} << 10U;
inline constexpr std::size_t kBytesPerEntry = 16;

// Limits of a node. A node over a limit is not used.
inline constexpr std::size_t kMaxNodeResources = 512;
inline constexpr std::size_t kMaxTaints = 256;
inline constexpr std::size_t kMaxNodeLabels = 1024;

// Limits of other objects: labels and rules, as in kMaxRuleBytes. An object over it is not used.
inline constexpr std::size_t kMaxAuxObjectBytes = std::size_t{32} << 10U;
inline constexpr std::size_t kMaxBudgetBytes = std::size_t{1} << 10U;  // disruption budgets
inline constexpr std::size_t kMaxDrivers = 256;                        // of one node

// The size of labels and rules, as in kMaxRuleBytes.
[[nodiscard]] std::size_t rule_bytes(const Labels& labels);
[[nodiscard]] std::size_t rule_bytes(const LabelSelector& selector);
[[nodiscard]] std::size_t rule_bytes(std::span<const NodeTerm> terms);
[[nodiscard]] std::size_t rule_bytes(const PodTerm& term);
[[nodiscard]] std::size_t rule_bytes(const NodeRules& rules);
[[nodiscard]] std::size_t rule_bytes(const PodConstraints& constraints);

// Checks only the rules, before anything is built from them, of the pod "namespace/name".
[[nodiscard]] Status within_limits(std::string_view pod, const NodeRules& rules,
                                   const PodConstraints& constraints);
// Checks the whole pod.
[[nodiscard]] Status within_limits(const PodSpec& pod);

// Cuts the rules of a pod that is over a limit, as below.
void cut_rules(NodeRules& rules, PodConstraints& constraints);

// For a pod that we do not place. Nothing changes if it is within the limits.
//   resources      all count; beyond kMaxBoundResourceNames names only the first
//   containers     those beyond the limit are charged together, and their cards count as unnamed
//   labels         the first
//   anti-affinity  the first required terms, because other pods must respect them
//   ports, claims  the first
//   all else       dropped: it only affects where the pod would be placed
void cut_to_limits(PodSpec& pod);

}  // namespace stowage::core
