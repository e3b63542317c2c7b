// Plans preemption: the fewest, least important pods whose eviction makes a pod fit. Verifies this
// by a dry run on a copy of the node's state. Reads the cluster and changes nothing except the
// remaining steps of the search for cards.
//
// Made for one decision: the cluster must not change while the planner is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/affinity/affinity_index.h"
#include "core/engine/constraint_filter.h"
#include "core/engine/nominations.h"
#include "core/engine/victim_plan.h"
#include "core/ledger/ledger.h"
#include "core/model/storage.h"
#include "core/place/judge.h"

namespace stowage::core {

class PreemptionPlanner {
 public:
  struct View {
    const Ledger& ledger;
    const AffinityIndex& affinity;
    const std::map<std::string, Budget>& budgets;
    const Nominations& nominations;
    SearchSteps& search;
    bool evicts = true;  // false: only nominations of less important pods can be taken
    bool waits = true;   // false: the pod must fit at once, so pods that are terminating count
  };
  explicit PreemptionPlanner(const View& view) : view_(view) {}

  // The preempting pod. Its constraint filter must match the current cluster.
  struct Preemptor {
    const PodSpec& pod;
    const Shape& shape;
    const ConstraintFilter& constraint_filter;
  };
  // The cheapest plan on these nodes. They must refuse the pod for reasons that preemption can
  // resolve. Only the best candidates are tried with a dry run.
  [[nodiscard]] std::optional<VictimPlan> cheapest(const Preemptor& preemptor,
                                                   const std::vector<NodeIndex>& nodes);
  // Chooses as few of the potential victims as possible. Unset: evicting all of them does not help.
  [[nodiscard]] std::optional<VictimPlan> on_node(const Preemptor& preemptor, NodeIndex node,
                                                  const PotentialVictims& potential);
  // Most nodes that one decision tries with a dry run: the best candidates, and others until a plan
  // is found.
  struct NodeLimits {
    std::size_t best = 0;
    std::size_t in_vain = 0;
  };
  [[nodiscard]] static NodeLimits limits(const Preemptor& preemptor);
  // Pods that dry runs have removed so far, each as often as it was removed.
  [[nodiscard]] const std::vector<PodIndex>& taken() const { return taken_; }
  // The less important pods of the node, those to keep longest first.
  [[nodiscard]] PotentialVictims less_important(const PodSpec& pod, NodeIndex node);

 private:
  struct Candidate;
  [[nodiscard]] std::vector<Candidate> candidates(const Preemptor& preemptor,
                                                  const std::vector<NodeIndex>& nodes) const;
  [[nodiscard]] bool may_evict(const PodSpec& pod, const PodRecord& other) const;
  void weigh(VictimPlan& plan);
  [[nodiscard]] bool selects(const Budget& budget, const Labels& labels);
  [[nodiscard]] std::vector<std::uint8_t> breaks_budget(const std::vector<PodIndex>& pods);

  View view_;
  std::vector<PodIndex> taken_;
  // Cache: whether a budget selects pods with these labels (owned by AffinityIndex).
  std::map<std::pair<const Labels*, const Budget*>, bool> selected_;
};

}  // namespace stowage::core
