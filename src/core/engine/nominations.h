// Nominations: capacity of a node that is kept for one pod until all of it is free. A pod that
// evicts others gets one, so that no other pod takes the capacity that its victims free. A pod that
// has waited long for several cards of one node gets one, which grows as cards become free. In the
// ledger a nomination is a record of its own, with state `nomination`, so other pods are placed
// around it. It counts against the quota of the pod's namespace; otherwise every preempting pod
// would count on the same rest of the quota.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/instant.h"
#include "core/ledger/ledger.h"
#include "core/model/event.h"
#include "core/model/pod.h"
#include "core/quota/quota_tracker.h"

namespace stowage::core {

struct Nomination {
  PodSpec pod;
  std::string node;
  Assignment target;
  std::vector<std::string> victims = {};  // uids of pods that are being evicted
  base::Instant until;
  bool preempts = false;
  bool from_api = false;  // another scheduler set it in the pod's status
};

class Nominations {
 public:
  Nominations(Ledger& ledger, QuotaTracker& quotas) : ledger_(ledger), quotas_(quotas) {}

  // Keeps the free part of the target and replaces the pod's earlier nomination. Emits a command
  // unless the nomination came from the API.
  void open(Nomination made, Commands& out);
  // lift() removes the kept capacity from the ledger and returns its node (invalid if nothing is
  // kept). keep() adds all that is free of the target again.
  NodeIndex lift(const std::string& uid);
  Ledger::KeptCapacity keep(const std::string& uid);
  // Ends the nomination; with `out`, emits a command. Returns the node on which capacity was kept.
  NodeIndex close(const std::string& uid);
  NodeIndex close(const std::string& uid, Commands& out);

  [[nodiscard]] const Nomination* find(const std::string& uid) const;                  // null: none
  [[nodiscard]] const std::map<std::string, Nomination>& all() const { return all_; }  // by uid
  [[nodiscard]] bool empty() const { return all_.empty(); }
  // kept_for() returns the ledger record of the pod's nomination. The reverse returns null if the
  // record is not a nomination.
  [[nodiscard]] PodIndex kept_for(const std::string& uid) const;
  [[nodiscard]] const Nomination* of_record(const PodRecord& record) const;
  // The record as it will be once the nomination is complete: with its full target, and without the
  // parts of shared cards that are kept until then. Other records are returned unchanged.
  [[nodiscard]] PodRecord when_complete(const PodRecord& record) const;
  // Uids of the pods whose nominations are among these records, in the same order.
  [[nodiscard]] std::vector<std::string> among(const std::vector<PodIndex>& records) const;

  // The quotas were reset and must count the nominations again.
  void quotas_changed();
  // True if the quota does not allow the kept capacity.
  [[nodiscard]] bool over_quota(const std::string& uid) const;

  // Uids of pods, sorted: nominated to the node; with an expired nomination; waiting for this
  // victim; with a lower priority.
  [[nodiscard]] std::vector<std::string> on_node(const std::string& node) const;
  [[nodiscard]] std::vector<std::string> expired(base::Instant now) const;
  [[nodiscard]] std::vector<std::string> waiting_for(const std::string& victim) const;
  [[nodiscard]] std::vector<std::string> below(std::int32_t priority) const;
  [[nodiscard]] bool any_below(std::int32_t priority) const;
  // Number of nominations for pods that waited long.
  [[nodiscard]] std::size_t for_starving() const;
  // True if some of its victims are still present.
  [[nodiscard]] bool victims_pending(const Nomination& made) const;
  // Number of nominations so far.
  [[nodiscard]] std::uint64_t opened() const { return opened_; }

 private:
  template <typename Condition>
  [[nodiscard]] std::vector<std::string> where(Condition&& condition) const;

  void expect_use(const Nomination& made);

  Ledger& ledger_;
  QuotaTracker& quotas_;
  std::map<std::string, Nomination> all_;  // by uid of the pod
  std::uint64_t opened_ = 0;
};

}  // namespace stowage::core
