// The engine's state and steps (see engine.h for the contract): the ledger, the pods that wait or
// are being bound, and one planner per profile that finds places.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>  // lookup only
#include <utility>
#include <vector>

#include "core/engine/agenda.h"
#include "core/engine/beyond.h"
#include "core/engine/engine.h"
#include "core/engine/loads.h"
#include "core/engine/nominations.h"
#include "core/engine/planner.h"
#include "core/engine/preemption_planner.h"
#include "core/engine/waiting.h"
#include "core/peers/peers.h"
#include "core/quota/book.h"
#include "core/volumes/volume_book.h"

namespace stowage::core {

class Engine::Body {
 public:
  Body(std::vector<PolicyOptions> profiles, EngineOptions options);

  Commands handle(const Event& event, base::Instant now);
  [[nodiscard]] bool unfinished() const { return !agenda_.empty(); }
  FilterAnswer filter(const FilterAsk& ask, base::Instant now, Commands& out);
  ScoreAnswer score(const FilterAsk& ask, base::Instant now, Commands& out);
  ClaimAnswer claim(const ClaimAsk& ask, base::Instant now, Commands& out);
  PreemptAnswer preempt(const PreemptAsk& ask);
  [[nodiscard]] bool holds(const std::string& uid, const Place& place) const;
  bool fits_somewhere(const PodSpec& pod);
  std::vector<NodeVerdict> explain(const PodSpec& pod);
  std::string record_decision(const PodSpec& pod);
  Result<Commands> replay(const DecisionRecord& record);
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }
  [[nodiscard]] Counters counters() const;
  [[nodiscard]] std::vector<std::string> audit();

 private:
  using Try = Planner::Try;
  // A bind command whose reply has not come yet, or a place that is picked outside.
  struct Binding {
    PodSpec pod;
    std::uint64_t arrival = 0;
    std::uint64_t generation = 0;    // set: the picker was asked
    std::vector<std::string> picks;  // among which it may choose
  };

  // ---- events (engine.cc, things.cc)
  void on(const NodeChanged& e);
  void on(const NodeGone& e);
  void on(const PodPending& e);
  void on(const PodSeenBound& e);
  void on(const BindDone& e);
  void on(const BindFailed& e);
  void on(const PodGone& e);
  void on(const PodHeld& e);
  void on(const HoldEnded& e);
  void on(const QuotaChanged& e);
  void on(const Tick& e);
  void on(const PodNominated& e);
  void on(const ThingChanged& e);
  void on(const ThingGone& e);
  void on(const EvictFailed& e);
  void on(const Picked& e);
  void on(const StandDown& e);
  void on(const Lead& e);
  void on(const CardsMeasured& e);
  void on(const CardsNamed& e);
  void on(const NodeSilent& e);
  void on(const Continue& /*unused*/) {}  // handle() goes on by itself
  void node_changed(const NodeSpec& spec);
  PodIndex seen_bound(const PodSeenBound& e);
  void reject(const std::string& subject, std::string why);
  [[nodiscard]] Status acceptable(const PodSpec& pod) const;
  // The planner of the pod's profile, or one made for its own wish.
  Planner& planner_of(const PodSpec& pod);
  // Pods can wish for any policy: planners that nobody wished for lately are forgotten. Not while
  // one is in use.
  void forget_planners();
  // The pod with what the quota of its namespace leaves it, if there is one: then in `scratch`.
  const PodSpec& bounded(const PodSpec& pod, PodSpec& scratch) const;
  [[nodiscard]] Beyond beyond(const PodSpec& pod) {
    return {pod, {.ledger = &ledger_, .peers = &peers_, .volumes = &volumes_}};
  }

  // ---- placing (place.cc)
  // Finds a place for the pod, reserves it and asks for the bind; or parks the pod and says why. A
  // pod that is parked already stays so if there is no place.
  bool place(const PodSpec& pod, std::uint64_t arrival, Try which);
  struct Attempt;  // one decision under way
  // What rules beyond the shape of the pod say about a node, also if those come who have room kept
  // there.
  [[nodiscard]] ReasonCode check(const Attempt& attempt, NodeIndex node);
  [[nodiscard]] ReasonCode check_with_rooms(const PodSpec& pod, NodeIndex node);
  [[nodiscard]] Planner::Heed heed(const Attempt& attempt);
  Planner::Choice choose(Attempt& attempt);
  void settle(Attempt& attempt, NodeIndex node);
  void refuse(Attempt& attempt, bool held_back);
  [[nodiscard]] Refusal refusal_of(Attempt& attempt, bool held_back);
  // ---- what is told with a refusal (refusals.cc)
  // What the quota has to say, and claims: with its numbers, and whether any node could help. The
  // pod is bounded by its quota.
  void add_bounds(const PodSpec& pod, const Beyond& more, Refusal& refusal) const;
  void tell_twins(const Attempt& attempt, const Refusal& refusal);
  void park(const Attempt& attempt);
  [[nodiscard]] std::string group_key(const PodSpec& pod, bool beyond);
  void teach_others(const PodSpec& pod, PodIndex placed, Try which);
  // Tells everybody but the ledger that a pod is on a node.
  void seat(PodIndex pod, const PodSpec& spec);
  void unseat(PodIndex pod);  // the reverse, before the ledger forgets it
  NodeIndex release(PodIndex pod);

  // ---- the agenda (agenda.cc): what one event does is bounded, and the rest is left for the next
  // Starts an event or a question.
  void begin(base::Instant now);
  // The event has done its share, or something is left of earlier ones that has to go first.
  [[nodiscard]] bool deferring() const { return !agenda_.empty() || spent(); }
  [[nodiscard]] bool spent() const;
  [[nodiscard]] std::uint64_t effort() const;
  // Runs the step, which may defer what is left of it; or defers all of it.
  void run_or_defer(Step step);
  void run(Step& step);
  void defer(Step step);
  void go_on();

  // ---- waking (wake.cc)
  // There is more room on this node: whoever has room kept on it is served first, then parked pods
  // that it can hold now. All other nodes refused them, and nothing has changed there.
  void wake(NodeIndex node);
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
  // Groups that rules about pods and volumes stand in the way of, if something has happened that
  // can help them; and those whose cards are still searched for.
  void try_beyond(const Step& step);
  [[nodiscard]] bool may_help_beyond() const;
  void refill_rations();
  bool may_try_beyond(std::int32_t cost);
  // A pod left a namespace with a quota: others of it may go elsewhere than to the node it left.
  void wake_namespace(const std::string& pod_name);

  // ---- nominations (rooms.cc): what is kept for a pod until all of it is there
  void close_nominations(const std::string& node);
  void serve_rooms(NodeIndex node);
  void serve_line(NodeIndex node, const Line& line);
  // Room on the node that the API says the pod is nominated to, whoever did that.
  void honour_nomination(const PodSpec& pod, const std::string& node);
  void expire_rooms();
  void reserve_for_starving();
  std::optional<VictimPlan> nearest_room(const PodSpec& pod, Shape& shape);

  // ---- preemption (preemption.cc)
  [[nodiscard]] PreemptionPlanner preemption_planner();
  std::optional<VictimPlan> plan_preemption(const Attempt& attempt);
  // Evicts pods, or takes room from others, for this one. True: it has its place now.
  bool make_way(Attempt& attempt, Refusal& refusal);

  // ---- guests (guests.cc)
  struct Guest {
    PodSpec pod;
    Place place;
    base::Instant until;   // of a hold
    bool claimed = false;  // its bind is under way: it no longer runs out
    bool debt = false;     // it was promised cards that were not all free when we heard of it
  };
  class OwnRoom;
  struct Candidates;  // the nodes of an ask, as the policy sees them
  // The nodes of these names; invalid where there is none.
  std::vector<NodeIndex> find_nodes(const std::vector<std::string>& names);
  Candidates look_at(const PodSpec& pod, const std::vector<std::string>& nodes, Try which);
  void hold(const PodSpec& pod, Candidates& candidates, base::Instant until);
  void hold_promised(const PodHeld& e);
  [[nodiscard]] Positions positions_on(const std::string& node, const NamedAssignment& cards) const;
  // The cards that the policy chooses on the best of the candidates.
  [[nodiscard]] Assignment cards_on_best(const Candidates& candidates);
  [[nodiscard]] Place place_of(NodeIndex node, const Assignment& cards) const;
  // Takes the guest's cards back, without waking anybody. The node, if there was a hold.
  NodeIndex let_go(const std::string& uid);
  void forget_guest(const std::string& uid);
  // Where a pod is that needs no place any more; empty if it does.
  [[nodiscard]] std::string settled_on(const std::string& uid) const;
  void expire_holds();
  [[nodiscard]] bool still_there(const Guest& guest) const;
  void wake_after(NodeIndex left, const std::string& pod_name);

  // ---- how busy cards are (loads.h); the ledger is told while a policy asks for it
  void heed_load(const Planner& planner);
  void refresh_load(const std::string& node);
  void expect_load(PodIndex placed);

  // ---- pods that were given the same share (conflicts.cc)
  void settle_conflicts(NodeIndex node);

  // ---- the outside picker (picker.cc)
  void ask_picker(Attempt& attempt, Binding& binding, NodeIndex reserved);

  EngineOptions options_;
  Ledger ledger_;
  // Of this event; planners have its address.
  SearchSteps search_{.left = options_.search_per_event};
  std::uint64_t effort_before_ = 0;  // this event
  std::uint64_t looks_ = 0;          // of this event, in judgements
  std::deque<Step> agenda_;          // left by earlier events, in this order
  Peers peers_{ledger_};
  VolumeBook volumes_;
  std::map<std::string, Budget> budgets_;
  QuotaBook quotas_;
  Loads loads_;
  bool load_heeded_ = false;
  std::set<std::string> silent_;                    // nodes
  std::vector<std::unique_ptr<Planner>> planners_;  // by profile, then those of wishes
  std::size_t profiles_ = 0;
  using WishKey = std::tuple<std::uint32_t, NodePolicy, CardPolicy, bool>;
  struct WishPlanner {
    std::size_t at = 0;  // in planners_
    std::uint64_t asked = 0;
  };
  std::map<WishKey, WishPlanner> wish_planners_;
  std::uint64_t wishes_ = 0;                                  // asked for
  std::unordered_map<std::string, Guest> guests_;             // lookup only
  std::set<std::pair<base::Instant, std::string>> runs_out_;  // of holds
  std::vector<NodeIndex> next_asked_;  // by node: which one was asked about after it, last time
  Waiting waiting_;
  Nominations nominations_{ledger_};
  std::unordered_map<std::string, Binding> binding_;           // lookup only
  std::unordered_map<std::string, base::Instant> refused_at_;  // lookup only
  std::map<std::int32_t, std::int64_t> priorities_;            // of pods on nodes: how many
  // Binds that failed in a row.
  std::unordered_map<std::string, std::uint32_t> failures_;  // lookup only
  // Nobody could be evicted for pods of this group as long as the ledger was like that.
  std::pair<std::string, std::uint64_t> fruitless_;
  std::set<std::string> conflicts_;  // uids of pods that were told to be in one
  bool leads_ = false;               // conflicts are settled
  std::uint64_t epoch_ = 0;          // of nodes' labels, namespaces and volumes
  std::string tried_up_to_;          // key of the last group that a tick has tried
  double rations_ = 0;               // of tries of such groups; filled up as time passes
  base::Instant rationed_at_{-1'000'000'000};
  std::uint64_t arrivals_ = 0;
  std::uint64_t generations_ = 0;
  base::Instant now_;
  Counters counters_;
  Commands out_;
};

// One decision under way.
struct Engine::Body::Attempt {
  const PodSpec& asked;
  const PodSpec& pod;  // bounded by its quota
  std::uint64_t arrival = 0;
  Try which = Try::first;
  Planner& planner;
  Planner::Entry& entry;
  std::uint32_t kind = 0;
  Beyond beyond;
  std::string prefer;  // a node that is taken if the pod fits there
  bool asks = true;    // the outside picker, if there is one
};

}  // namespace stowage::core
