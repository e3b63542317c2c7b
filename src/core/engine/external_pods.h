// External pods: another scheduler places them, and their cards are held and reserved here. Answers
// the requests of that scheduler (external_requests.h describes them and the life of such a pod).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/engine/engine_state.h"
#include "core/engine/external_requests.h"
#include "core/engine/requeuer.h"

namespace stowage::core {

class ExternalPods {
 public:
  ExternalPods(EngineState& state, Requeuer& requeuer)
      : state_(state),
        cluster_(state.cluster),
        ledger_(state.cluster.ledger),
        holds_(state.holds),
        requeuer_(requeuer) {}

  // The contracts are those of Engine.
  [[nodiscard]] FilterAnswer filter(const FilterRequest& ask, base::Instant now, Commands& out);
  [[nodiscard]] ScoreAnswer score(const FilterRequest& ask, base::Instant now, Commands& out);
  [[nodiscard]] ReserveAnswer reserve(const ReserveRequest& ask, base::Instant now, Commands& out);
  [[nodiscard]] PreemptAnswer preempt(const PreemptRequest& ask);
  [[nodiscard]] bool holds(const std::string& uid, const CardPlacement& place) const;
  [[nodiscard]] bool fits_somewhere(const PodSpec& pod);

  // The pod holds cards from before this engine started. Requires: a valid event.
  void held(const PodHeld& e);
  // Releases the held cards without waking other pods. Returns the node, if there was a hold.
  NodeIndex let_go(const std::string& uid);
  // The same, and wakes other pods.
  void end_hold(const std::string& uid);
  void expire_holds();

 private:
  class LiftedNominations;
  struct Candidates;  // the nodes of a request, as the policy ranks them
  // The nodes with these names; invalid for unknown names.
  [[nodiscard]] std::vector<NodeIndex> find_nodes(const std::vector<std::string>& names);
  // If the pod fits on no node, lifts nominations of less important pods, as for our own pods.
  [[nodiscard]] Candidates look_at(const PodSpec& pod, const std::vector<std::string>& nodes,
                                   Planner::Try which, LiftedNominations& lifted);
  void choose_best(Candidates& all) const;
  // Uids of less important pods whose nominations must end so that the pod fits on one of these
  // nodes; null: on any node. Empty: that would not help.
  [[nodiscard]] std::vector<std::string> nominations_in_the_way(
      const PodSpec& pod, const Planner::Entry& entry, const std::vector<NodeIndex>* asked);
  [[nodiscard]] CardPlacement place_of(NodeIndex node, const Assignment& cards) const;
  const Hold& hold(const PodSpec& pod, Candidates& candidates, base::Instant until,
                   LiftedNominations& lifted);
  void hold_pre_allocated(const PodHeld& e);
  void mark_reserved(const std::string& uid);
  // The node of a pod that is reserved or bound; empty for other pods.
  [[nodiscard]] std::string assigned_node(const std::string& uid) const;
  [[nodiscard]] bool still_there(const Hold& hold) const;
  // The victims on one node; unset if their eviction does not help.
  [[nodiscard]] std::optional<PreemptAnswer::OnNode> victims_on(
      const PreemptRequest::OnNode& asked, NodeIndex node,
      const PreemptionPlanner::Preemptor& preemptor, PreemptionPlanner& planner);
  // Ends a request and appends the resulting commands.
  void finish(NodeIndex left, NodeIndex taken, Commands& out);

  EngineState& state_;
  ClusterState& cluster_;
  Ledger& ledger_;
  Holds& holds_;
  Requeuer& requeuer_;
  std::vector<NodeIndex> next_asked_;  // by node: the node that followed it in the last request
};

}  // namespace stowage::core
