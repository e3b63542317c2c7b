// Plans preemption: the fewest, least important pods whose going really makes a pod fit. Decided by
// a dry run on a copy of the node's state. Reads the cluster and changes nothing, except for the
// steps that the search for cards has left.
//
// Made for one decision: the cluster must stay as it is while the planner is used.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/beyond.h"
#include "core/engine/nominations.h"
#include "core/engine/victim_plan.h"
#include "core/ledger/ledger.h"
#include "core/model/storage.h"
#include "core/peers/peers.h"
#include "core/place/judge.h"

namespace stowage::core {

class PreemptionPlanner {
 public:
  struct View {
    const Ledger& ledger;
    const Peers& peers;
    const std::map<std::string, Budget>& budgets;
    const Nominations& nominations;
    SearchSteps& search;
    bool evicts = true;  // false: only nominations of less important pods give way
  };
  explicit PreemptionPlanner(const View& view) : view_(view) {}

  // The pod that needs room. Its demands must be those of the cluster as it is.
  struct Preemptor {
    const PodSpec& pod;
    const Shape& shape;
    const Beyond& beyond;
  };
  // The cheapest plan on these nodes, which refuse the pod for reasons that preemption can help
  // against. Looks closely at the most promising ones only.
  [[nodiscard]] std::optional<VictimPlan> cheapest(const Preemptor& preemptor,
                                                   const std::vector<NodeIndex>& nodes);
  // As few of the potential victims as will do. Unset: it does not help if all of them go.
  [[nodiscard]] std::optional<VictimPlan> on_node(const Preemptor& preemptor, NodeIndex node,
                                                  const PotentialVictims& potential);
  // Pods that dry runs have taken away so far, each as often as it was.
  [[nodiscard]] const std::vector<PodIndex>& taken() const { return taken_; }
  // The less important pods of the node, in the order in which they are spared.
  [[nodiscard]] PotentialVictims less_important(const PodSpec& pod, NodeIndex node);

 private:
  struct Candidate;
  [[nodiscard]] std::vector<Candidate> candidates(const Preemptor& preemptor,
                                                  const std::vector<NodeIndex>& nodes) const;
  [[nodiscard]] bool may_evict(const PodSpec& pod, const PodRecord& other) const;
  // The pod as it counts in a dry run: of a nomination all that it is to become.
  [[nodiscard]] PodRecord as_it_will_be(PodIndex pod) const;
  void weigh(VictimPlan& plan);
  [[nodiscard]] bool selects(const Budget& budget, const Labels& labels);
  [[nodiscard]] std::vector<std::uint8_t> breaks_budget(const std::vector<PodIndex>& pods);

  View view_;
  std::vector<PodIndex> taken_;
  // Which budgets select pods with these labels (of Peers): asked again and again.
  std::map<std::pair<const Labels*, const Budget*>, bool> selected_;
};

}  // namespace stowage::core
