// Decides which waiting pods are tried again: a departure or a changed node wakes those that may
// fit now. One event does a bounded amount of this work (deferred_steps.h) and leaves the rest for
// later events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/engine/deferred_steps.h"
#include "core/engine/engine_state.h"
#include "core/engine/pod_placer.h"
#include "core/engine/retry_budget.h"

namespace stowage::core {

class Requeuer {
 public:
  Requeuer(EngineState& state, PodPlacer& placer)
      : state_(state),
        cluster_(state.cluster),
        ledger_(state.cluster.ledger),
        waiting_(state.waiting),
        placer_(placer) {}

  // Continues the steps that earlier events deferred.
  void go_on();
  [[nodiscard]] bool unfinished() const { return !deferred_.empty(); }
  // Drops all waiting pods.
  void clear();

  // Places the pod (PodPlacer), and wakes others if this frees capacity on a node.
  bool place(const PodSpec& pod, std::uint64_t arrival, Planner::Try which);
  // The node has more free capacity: tries the pods nominated to it first, then parked pods that
  // fit now. Other nodes are not judged again, because nothing has changed there.
  void wake(NodeIndex node);
  // A pod has left the node, if that is valid. If its namespace has a quota, other pods of the
  // namespace may now fit on any node.
  void wake_after(NodeIndex left, const std::string& pod_name);
  // The quota of the namespace may allow more, on any node.
  void wake_namespace(const std::string& pod_name);
  // Runs the step, which may defer its remainder; or defers all of it.
  void run_or_defer(Step step);
  // Tries pods that were refused by rules about other pods or volumes, if a change may help them,
  // and pods whose search for cards was cut. Called at the end of each event.
  void try_helped();
  // Ends expired nominations (nominating.cc).
  void expire_nominations();

 private:
  // The event's budget is used up, or earlier deferred steps must run first.
  [[nodiscard]] bool deferring() const { return !deferred_.empty() || spent(); }
  [[nodiscard]] bool spent() const { return state_.work.spent(state_.planners.effort()); }
  void run(Step& step);

  // Tries parked pods, the most urgent first: those that fit on the node, or all if it is invalid.
  void try_parked(NodeIndex node);
  void try_line(NodeIndex node, Line line);
  [[nodiscard]] bool could_fit(Waiting::Group& group, NodeIndex node);
  bool try_group(const std::string& key);
  // Tries the pods of the group one by one. False: some that could be placed may be left.
  bool try_twins(const std::string& key);
  void try_some_parked();
  void try_some(Line line);
  void try_rested();
  void try_constrained(const Step& step);
  [[nodiscard]] bool may_help_constrained() const;

  // ---- nominations (nominating.cc)
  // Tries the pods nominated to the node, the most urgent first.
  void serve_nominated(NodeIndex node);
  void serve_line(NodeIndex node, const Line& line);
  void nominate_starving();
  // The group whose first pod has waited longest among the most important ones that may get a
  // nomination; null if none exists.
  [[nodiscard]] Waiting::Group* longest_starving();
  [[nodiscard]] std::optional<VictimPlan> nearest_nomination(const PodSpec& pod, Shape& shape);

  EngineState& state_;
  ClusterState& cluster_;
  Ledger& ledger_;
  Waiting& waiting_;
  PodPlacer& placer_;
  DeferredSteps deferred_;
  RetryBudget budget_;       // for groups that are expensive to try
  std::string tried_up_to_;  // key of the last group that a tick tried
};

}  // namespace stowage::core
