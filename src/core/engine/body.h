// The engine's state and steps (see engine.h for the contract): the ledger, the pods that wait or
// are being bound, and one planner per profile that finds places.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>  // lookup only
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/planner.h"
#include "core/engine/waiting.h"

namespace stowage::core {

class Engine::Body {
 public:
  explicit Body(std::vector<PolicyOptions> profiles);

  Commands handle(const Event& event, base::Instant now);
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
  void on(const Tick& e);
  void reject(const std::string& subject, std::string why);
  [[nodiscard]] Status acceptable(const PodSpec& pod) const;
  Planner& planner_of(const PodSpec& pod) { return *planners_[pod.profile]; }

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
  bool try_first(const std::string& group);

  Ledger ledger_;
  std::vector<std::unique_ptr<Planner>> planners_;  // by profile
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
