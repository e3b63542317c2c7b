// Places one pod: chooses a node, reserves it and emits the bind; or preempts; or refuses with a
// reason and parks the pod. Wakes no other pod: it returns the node that has more free capacity
// than before, and the caller (requeuer.h) acts on that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/engine/engine_state.h"

namespace stowage::core {

class PodPlacer {
 public:
  explicit PodPlacer(EngineState& state)
      : state_(state), cluster_(state.cluster), ledger_(state.cluster.ledger) {}

  using Try = Planner::Try;
  struct Outcome {
    bool placed = false;
    NodeIndex left = {};  // a node whose nominated capacity the pod no longer needs
  };
  // A pod that is already parked stays parked if it does not fit.
  Outcome place(const PodSpec& pod, std::uint64_t arrival, Try which);
  // The outside picker chose among the offered candidates (picker.cc).
  Outcome picked(const Picked& e);
  // Keeps capacity on the node that the API says the pod is nominated to, whichever scheduler set
  // it (preemption.cc).
  void honour_nomination(const PodSpec& pod, const std::string& node);

 private:
  // One decision in progress.
  struct Attempt {
    const PodSpec& asked;
    const PodSpec& pod;  // bounded by its quota
    std::uint64_t arrival = 0;
    Try which = Try::first;
    Planner& planner;
    Planner::Entry& entry;
    std::uint32_t kind = 0;
    ConstraintFilter constraint_filter;
    std::string prefer = {};  // chosen if the pod fits there
    bool asks = true;         // ask the outside picker, if there is one
  };
  // `pod` is `asked`, bounded by its quota.
  [[nodiscard]] Attempt attempt_for(const PodSpec& asked, const PodSpec& pod, Try which);

  // The verdict of the pod's constraints on a node. A node must also pass if the pods nominated to
  // it are counted as present.
  [[nodiscard]] ReasonCode check(const Attempt& attempt, NodeIndex node);
  [[nodiscard]] ReasonCode check_with_nominated(const PodSpec& pod, NodeIndex node);
  [[nodiscard]] Planner::ChoiceOptions choice_options(const Attempt& attempt);
  [[nodiscard]] Planner::Choice choose(Attempt& attempt);
  void resolve(Attempt& attempt, NodeIndex node);
  void ask_picker(Attempt& attempt, PendingBind& bind, NodeIndex reserved);

  // True: the pod was placed after all, on capacity that was nominated for other pods.
  bool refuse(Attempt& attempt, bool held_back);
  [[nodiscard]] Refusal refusal_of(Attempt& attempt, bool held_back);
  void tell_twins(const Attempt& attempt, const Refusal& refusal);
  void park(const Attempt& attempt);
  [[nodiscard]] std::string group_key(const PodSpec& pod, bool by_neighbours);

  [[nodiscard]] std::optional<VictimPlan> plan_preemption(const Attempt& attempt);
  // Executes a plan: evicts pods, or ends nominations of other pods. Returns the same as refuse().
  bool make_way(Attempt& attempt, Refusal& refusal);

  EngineState& state_;
  ClusterState& cluster_;
  Ledger& ledger_;
  // The last group key and cluster version for which no victims were found.
  std::pair<std::string, std::uint64_t> fruitless_;
  std::uint64_t generations_ = 0;  // number of requests to the picker
};

}  // namespace stowage::core
