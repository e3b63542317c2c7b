// Finds the anti-affinity terms of pods on nodes that select a pod. Remembers, for each label set,
// which terms select it, up to a limit on all that is remembered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/affinity/anti_affinity_terms.h"
#include "core/affinity/label_sets.h"
#include "core/affinity/namespace_labels.h"
#include "core/model/pod.h"

namespace stowage::core {

class AntiTermMatches {
 public:
  static constexpr std::size_t kMaxRemembered = std::size_t{1} << 20U;  // terms, of all sets

  AntiTermMatches(LabelSets& sets, const NamespaceLabels& namespaces,
                  const AntiAffinityTerms& terms)
      : sets_(sets), namespaces_(namespaces), terms_(terms) {}

  // Terms that select the pod and that a pod has now, by rising index. May add the pod's set.
  [[nodiscard]] std::vector<AntiTermIndex> find(const PodSpec& pod);
  // Requires: called with every set that LabelSets frees.
  void forget(const std::vector<LabelSetIndex>& freed);

 private:
  struct Matches {
    std::vector<AntiTermIndex> terms;
    std::size_t checked = 0;  // terms below this index
    std::uint64_t version = 0;
  };
  const Matches& matches_of(LabelSetIndex index);

  LabelSets& sets_;
  const NamespaceLabels& namespaces_;
  const AntiAffinityTerms& terms_;
  std::vector<Matches> by_set_;
  std::size_t remembered_ = 0;
};

}  // namespace stowage::core
