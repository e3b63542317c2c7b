// Finds a place for one pod: chooses a node, reserves it and asks for the bind; or makes room by
// preemption, or refuses, says why, and parks the pod. Wakes no other pod: it says which node has
// more room than before, and the caller (requeuer.h) sees to that.
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
    NodeIndex left = {};  // a node with room that is no longer kept for the pod
  };
  // A pod that is parked already stays so if there is no place.
  Outcome place(const PodSpec& pod, std::uint64_t arrival, Try which);
  // The outside picker has chosen among the places that it was offered (picker.cc).
  Outcome picked(const Picked& e);
  // Keeps room on the node that the API says the pod is nominated to, whoever did that
  // (preemption.cc).
  void honour_nomination(const PodSpec& pod, const std::string& node);

 private:
  // One decision under way.
  struct Attempt {
    const PodSpec& asked;
    const PodSpec& pod;  // bounded by its quota
    std::uint64_t arrival = 0;
    Try which = Try::first;
    Planner& planner;
    Planner::Entry& entry;
    std::uint32_t kind = 0;
    Beyond beyond;
    std::string prefer = {};  // a node that is taken if the pod fits there
    bool asks = true;         // the outside picker, if there is one
  };
  // `pod` is `asked`, bounded.
  [[nodiscard]] Attempt attempt_for(const PodSpec& asked, const PodSpec& pod, Try which);

  // What rules beyond the shape of the pod say about a node, also if those pods come that are
  // nominated to it.
  [[nodiscard]] ReasonCode check(const Attempt& attempt, NodeIndex node);
  [[nodiscard]] ReasonCode check_with_nominated(const PodSpec& pod, NodeIndex node);
  [[nodiscard]] Planner::Heed heed(const Attempt& attempt);
  [[nodiscard]] Planner::Choice choose(Attempt& attempt);
  void settle(Attempt& attempt, NodeIndex node);
  void ask_picker(Attempt& attempt, PendingBind& bind, NodeIndex reserved);

  // True: it has its place now, since room that was kept for others was taken.
  bool refuse(Attempt& attempt, bool held_back);
  [[nodiscard]] Refusal refusal_of(Attempt& attempt, bool held_back);
  void tell_twins(const Attempt& attempt, const Refusal& refusal);
  void park(const Attempt& attempt);
  [[nodiscard]] std::string group_key(const PodSpec& pod, bool by_neighbours);

  [[nodiscard]] std::optional<VictimPlan> plan_preemption(const Attempt& attempt);
  // Carries a plan out: evicts pods, or takes room from others. As refuse().
  bool make_way(Attempt& attempt, Refusal& refusal);

  EngineState& state_;
  ClusterState& cluster_;
  Ledger& ledger_;
  // No pod could be evicted for pods of this group while the cluster was like that.
  std::pair<std::string, std::uint64_t> fruitless_;
  std::uint64_t generations_ = 0;  // of questions to the picker
};

}  // namespace stowage::core
