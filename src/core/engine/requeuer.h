// Which waiting pods are tried again, and when: a departure or a changed node wakes those that it
// can help. One event does a bounded amount of that (agenda.h); the rest is left for the next ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/engine/agenda.h"
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

  // Goes on with what earlier events left.
  void go_on();
  [[nodiscard]] bool unfinished() const { return !agenda_.empty(); }
  // All pods that wait are forgotten.
  void clear();

  // Places the pod (PodPlacer), and wakes others if a node has more room thereby.
  bool place(const PodSpec& pod, std::uint64_t arrival, Planner::Try which);
  // There is more room on this node: pods that are nominated to it are served first, then parked
  // pods that it can hold now. All other nodes refused them, and nothing has changed there.
  void wake(NodeIndex node);
  // A pod has left the node, if that is valid. Others of its namespace, if that has a quota, may go
  // elsewhere than to the node it left.
  void wake_after(NodeIndex left, const std::string& pod_name);
  // The namespace's pods may have more, anywhere.
  void wake_namespace(const std::string& pod_name);
  // Runs the step, which may defer what is left of it; or defers all of it.
  void run_or_defer(Step step);
  // Pods that rules about pods and volumes stand in the way of, if something has happened that can
  // help them; and those whose cards are still searched for. At the end of each event.
  void try_helped();
  // Ends nominations whose time is up (nominating.cc).
  void expire_nominations();

 private:
  // The event has done its share, or something is left of earlier ones that has to go first.
  [[nodiscard]] bool deferring() const { return !agenda_.empty() || spent(); }
  [[nodiscard]] bool spent() const { return state_.work.spent(state_.planners.effort()); }
  void run(Step& step);

  // Tries parked pods, the most urgent first: those that the node can hold, or all if it is
  // invalid.
  void try_parked(NodeIndex node);
  void try_line(NodeIndex node, Line line);
  [[nodiscard]] bool could_fit(Waiting::Group& group, NodeIndex node);
  bool try_group(const std::string& key);
  // Tries pods of the group one after the other. False: some may be left that could be placed.
  bool try_twins(const std::string& key);
  void try_some_parked();
  void try_some(Line line);
  void try_rested();
  void try_beyond(const Step& step);
  [[nodiscard]] bool may_help_beyond() const;

  // ---- nominations (nominating.cc)
  // Pods that are nominated to the node, the most urgent first.
  void serve_nominated(NodeIndex node);
  void serve_line(NodeIndex node, const Line& line);
  void nominate_starving();
  // The group whose first pod has waited longest among the most important ones that may get a
  // nomination; null if there is none.
  [[nodiscard]] Waiting::Group* longest_starving();
  [[nodiscard]] std::optional<VictimPlan> nearest_room(const PodSpec& pod, Shape& shape);

  EngineState& state_;
  ClusterState& cluster_;
  Ledger& ledger_;
  Waiting& waiting_;
  PodPlacer& placer_;
  Agenda agenda_;
  RetryBudget budget_;       // for groups whose tries cost much
  std::string tried_up_to_;  // key of the last group that a tick has tried
};

}  // namespace stowage::core
