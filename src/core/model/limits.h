// How much of each kind a pod may bring along, so that no author can make the scheduler slow or
// large for everybody else. The API server has no such limits: a pod may have thousands of terms.
// All are far above what pods have.
//
// A pod that wants a place and is over a limit is refused with a sentence. One that is on a node
// already, or that somebody else schedules, is charged for all that it asks for all the same; the
// rules that it brings along are cut (cut_to_limits).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/model/around.h"
#include "core/model/node.h"
#include "core/model/pod.h"
#include "core/model/rules.h"

namespace stowage::core {

inline constexpr std::size_t kMaxContainers = 256;
inline constexpr std::size_t kMaxCardContainers = 64;  // that ask for cards
inline constexpr std::size_t kMaxFilterEntries = 256;  // of one list of models or card ids
inline constexpr std::size_t kMaxLabels = 128;
inline constexpr std::size_t kMaxPodTerms = 64;  // required and preferred, for and against, in all
inline constexpr std::size_t kMaxSpreadRules = 32;
inline constexpr std::size_t kMaxNodeTerms = 128;  // required and preferred
inline constexpr std::size_t kMaxTolerations = 128;
inline constexpr std::size_t kMaxHostPorts = 128;
inline constexpr std::size_t kMaxVolumes = 128;  // claims
inline constexpr std::size_t kMaxDisks = 32;     // named in the pod
inline constexpr std::size_t kMaxResourceNames = 64;
// Of names that a pod on a node asks for: beyond these, in the order of the alphabet, none counts.
inline constexpr std::size_t kMaxBoundResourceNames = 256;
// Labels and rules altogether: their characters, and kBytesPerEntry for every entry of a list.
inline constexpr std::size_t kMaxRuleBytes = std::size_t{32} << 10U;
inline constexpr std::size_t kBytesPerEntry = 16;

// Of a node. One that is over a limit is not used.
inline constexpr std::size_t kMaxNodeResources = 512;
inline constexpr std::size_t kMaxTaints = 256;
inline constexpr std::size_t kMaxNodeLabels = 1024;

// Of other objects: labels and rules, as in kMaxRuleBytes. One that is over it is not used.
inline constexpr std::size_t kMaxThingBytes = std::size_t{32} << 10U;
inline constexpr std::size_t kMaxBudgetBytes = std::size_t{1} << 10U;  // disruption budgets
inline constexpr std::size_t kMaxDrivers = 256;                        // of one node

// What labels and rules weigh, as in kMaxRuleBytes.
[[nodiscard]] std::size_t rule_bytes(const Labels& labels);
[[nodiscard]] std::size_t rule_bytes(const LabelSelector& selector);
[[nodiscard]] std::size_t rule_bytes(std::span<const NodeTerm> terms);
[[nodiscard]] std::size_t rule_bytes(const PodTerm& term);
[[nodiscard]] std::size_t rule_bytes(const NodeRules& rules);
[[nodiscard]] std::size_t rule_bytes(const Around& around);

// The rules alone, before anything is made of them, of a pod of this "namespace/name".
[[nodiscard]] Status within_limits(std::string_view pod, const NodeRules& rules,
                                   const Around& around);
// The whole pod.
[[nodiscard]] Status within_limits(const PodSpec& pod);

// The rules alone of a pod that is over a limit, as below.
void cut_rules(NodeRules& rules, Around& around);

// For a pod whose place is not ours to choose. Nothing changes if it is within the limits.
//   resources      all count; of more than kMaxBoundResourceNames names the first
//   containers     those beyond the limit are charged together, and their cards count as unnamed
//   labels         the first
//   anti-affinity  the first terms that are required; others have to respect these
//   ports, claims  the first
//   all else       is dropped: it decides where a pod goes, and that is decided
void cut_to_limits(PodSpec& pod);

}  // namespace stowage::core
