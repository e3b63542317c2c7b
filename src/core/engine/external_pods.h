// External pods: another scheduler places them, and their cards are held and reserved here. Answers
// its questions (asks.h has them, and the life of such a pod).
#pragma once

#include <string>
#include <vector>

#include "core/engine/asks.h"
#include "core/engine/engine_state.h"
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
  [[nodiscard]] FilterAnswer filter(const FilterAsk& ask, base::Instant now, Commands& out);
  [[nodiscard]] ScoreAnswer score(const FilterAsk& ask, base::Instant now, Commands& out);
  [[nodiscard]] ClaimAnswer claim(const ClaimAsk& ask, base::Instant now, Commands& out);
  [[nodiscard]] PreemptAnswer preempt(const PreemptAsk& ask) const;
  [[nodiscard]] bool holds(const std::string& uid, const Place& place) const;
  [[nodiscard]] bool fits_somewhere(const PodSpec& pod);

  // The pod holds cards that it was given before we knew of it. Requires: a valid event.
  void held(const PodHeld& e);
  // Takes the pod's cards back, without waking others. The node, if there was a hold.
  NodeIndex let_go(const std::string& uid);
  // The same, and wakes others.
  void end_hold(const std::string& uid);
  void expire_holds();

 private:
  class OwnNomination;
  struct Candidates;  // the nodes of an ask, as the policy sees them
  // The nodes of these names; invalid where there is none.
  [[nodiscard]] std::vector<NodeIndex> find_nodes(const std::vector<std::string>& names);
  [[nodiscard]] Candidates look_at(const PodSpec& pod, const std::vector<std::string>& nodes,
                                   Planner::Try which);
  [[nodiscard]] Place place_of(NodeIndex node, const Assignment& cards) const;
  const Hold& hold(const PodSpec& pod, Candidates& candidates, base::Instant until);
  void hold_promised(const PodHeld& e);
  void mark_claimed(const std::string& uid);
  // Where a pod is that needs no place any more; empty if it does.
  [[nodiscard]] std::string settled_on(const std::string& uid) const;
  [[nodiscard]] bool still_there(const Hold& hold) const;
  // The end of a question: the commands that came of it.
  void finish(NodeIndex left, NodeIndex taken, Commands& out);

  EngineState& state_;
  ClusterState& cluster_;
  Ledger& ledger_;
  Holds& holds_;
  Requeuer& requeuer_;
  std::vector<NodeIndex> next_asked_;  // by node: which one was asked about after it, last time
};

}  // namespace stowage::core
