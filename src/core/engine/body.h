// The engine's state and steps (see engine.h for the contract): the ledger, the pods that wait or
// are being bound, and one planner per profile that finds places.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>  // lookup only
#include <utility>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/planner.h"
#include "core/engine/waiting.h"
#include "core/quota/book.h"

namespace stowage::core {

class Engine::Body {
 public:
  explicit Body(std::vector<PolicyOptions> profiles);

  Commands handle(const Event& event, base::Instant now);
  FilterAnswer filter(const FilterAsk& ask, base::Instant now, Commands& out);
  Scores score(const FilterAsk& ask, base::Instant now, Commands& out);
  ClaimAnswer claim(const ClaimAsk& ask, base::Instant now, Commands& out);
  PreemptAnswer preempt(const PreemptAsk& ask);
  bool fits_somewhere(const PodSpec& pod);
  std::vector<NodeVerdict> explain(const PodSpec& pod);
  std::string record_decision(const PodSpec& pod);
  Result<Commands> replay(const DecisionRecord& record);
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }
  [[nodiscard]] Counters counters() const;

 private:
  using Try = Planner::Try;
  struct Binding {  // a bind command whose reply has not come yet
    PodSpec pod;
    std::uint64_t arrival = 0;
  };

  void on(const NodeChanged& e);
  void on(const NodeGone& e);
  void on(const PodPending& e);
  void on(const PodSeenBound& e);
  void on(const BindDone& e);
  void on(const BindFailed& e);
  void on(const PodGone& e);
  void on(const PodHeld& e);
  void on(const QuotaChanged& e);
  void on(const Tick& e);
  void reject(const std::string& subject, std::string why);
  [[nodiscard]] Status acceptable(const PodSpec& pod) const;
  // The planner of the pod's profile, or one made for its own wish.
  Planner& planner_of(const PodSpec& pod);
  // The pod with what the quota of its namespace leaves it, if there is one: then in `scratch`.
  const PodSpec& bounded(const PodSpec& pod, PodSpec& scratch) const;

  // Finds a place for the pod, reserves it and asks for the bind; or parks the pod and says why.
  bool place(const PodSpec& pod, std::uint64_t arrival, Try which);
  void teach_others(const PodSpec& pod, PodIndex placed, Try which);
  NodeIndex release(PodIndex pod);
  void park(const PodSpec& pod, std::uint64_t arrival);
  // There is more room on this node: parked pods that it can hold now are tried. All other nodes
  // refused them, and nothing has changed there.
  void wake(NodeIndex node);
  // Tries parked pods, the most urgent first: those that the node can hold, or all if it is
  // invalid.
  void try_parked(NodeIndex node);
  void try_rested();
  // A pod left a namespace with a quota: others of it may go elsewhere than to the node it left.
  void wake_namespace(const std::string& pod_name);

  // ---- guests (guests.cc)
  struct Guest {
    PodSpec pod;
    Place place;
    base::Instant until;   // of a hold
    bool claimed = false;  // its bind is under way: it no longer runs out
  };
  struct Candidates;  // the nodes of an ask, as the policy sees them
  // The nodes of these names; invalid where there is none.
  std::vector<NodeIndex> find_nodes(const std::vector<std::string>& names);
  Candidates look_at(const PodSpec& pod, const std::vector<std::string>& nodes, Try which);
  void hold(const PodSpec& pod, Candidates& candidates, base::Instant until);
  // Takes the guest's cards back, without waking anybody. The node, if there was a hold.
  NodeIndex let_go(const std::string& uid);
  void forget_guest(const std::string& uid);
  // Where a pod is that needs no place any more; empty if it does.
  [[nodiscard]] std::string settled_on(const std::string& uid) const;
  void expire_holds();
  [[nodiscard]] bool still_there(const Guest& guest) const;
  void wake_after(NodeIndex left, const std::string& pod_name);
  bool try_first(const std::string& group);

  Ledger ledger_;
  QuotaBook quotas_;
  std::vector<std::unique_ptr<Planner>> planners_;  // by profile, then those of wishes
  std::size_t profiles_ = 0;
  using WishKey = std::tuple<std::uint32_t, NodePolicy, CardPolicy, bool>;
  std::map<WishKey, std::size_t> wish_planners_;              // positions in planners_
  std::unordered_map<std::string, Guest> guests_;             // lookup only
  std::set<std::pair<base::Instant, std::string>> runs_out_;  // of holds
  std::vector<NodeIndex> next_asked_;  // by node: which one was asked about after it, last time
  Waiting waiting_;
  std::unordered_map<std::string, Binding> binding_;  // lookup only
  // Binds that failed in a row.
  std::unordered_map<std::string, std::uint32_t> failures_;  // lookup only
  std::uint64_t arrivals_ = 0;
  base::Instant now_;
  Counters counters_;
  Commands out_;
};

}  // namespace stowage::core
