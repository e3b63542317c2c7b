// Nominations: capacity of a node that is kept for one pod until all of it is there. A pod that
// evicts others gets one, so that no other pod takes what its victims leave; a pod that has waited
// long for several cards of one node gets one, which grows as cards fall free. Other pods are
// placed around it: in the ledger it is a record of its own, of state `room`. What we keep for a
// pod counts against the quota of its namespace: each pod that evicts others would find the same
// rest of the quota otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/instant.h"
#include "core/ledger/ledger.h"
#include "core/model/event.h"
#include "core/model/pod.h"
#include "core/quota/book.h"

namespace stowage::core {

struct Nomination {
  PodSpec pod;
  std::string node;
  Assignment target;
  std::vector<std::string> victims = {};  // uids of pods that were told to go
  base::Instant until;
  bool preempts = false;
  bool from_api = false;  // another scheduler made it, in the pod's status
};

class Nominations {
 public:
  Nominations(Ledger& ledger, QuotaBook& quotas) : ledger_(ledger), quotas_(quotas) {}

  // Keeps what is free of the target; replaces the pod's earlier nomination. The command says so,
  // unless the API said it first.
  void open(Nomination made, Commands& out);
  // Takes what is kept out of the ledger (and says on which node that was; invalid: nothing is
  // kept), or puts all that is free of it in again.
  NodeIndex lift(const std::string& uid);
  Ledger::Room keep(const std::string& uid);
  // Ends it, and says so in `out`. The node on which something was kept.
  NodeIndex close(const std::string& uid);
  NodeIndex close(const std::string& uid, Commands& out);

  [[nodiscard]] const Nomination* find(const std::string& uid) const;                  // null: none
  [[nodiscard]] const std::map<std::string, Nomination>& all() const { return all_; }  // by uid
  [[nodiscard]] bool empty() const { return all_.empty(); }
  // What is kept for the pod, as a record in the ledger; and the reverse, null if the record is not
  // one of ours.
  [[nodiscard]] PodIndex kept_for(const std::string& uid) const;
  [[nodiscard]] const Nomination* of_record(const PodRecord& record) const;

  // The quotas are new, and know of none of these.
  void quotas_changed();
  // The quota does not leave the pod what is kept for it.
  [[nodiscard]] bool over_quota(const std::string& uid) const;

  // Uids of pods, in their order: nominated to the node; whose time is up; that wait for this
  // victim.
  [[nodiscard]] std::vector<std::string> on_node(const std::string& node) const;
  [[nodiscard]] std::vector<std::string> expired(base::Instant now) const;
  [[nodiscard]] std::vector<std::string> waiting_for(const std::string& victim) const;
  [[nodiscard]] bool any_below(std::int32_t priority) const;
  // Made for pods that waited long.
  [[nodiscard]] std::size_t for_starving() const;
  // Are its victims still there?
  [[nodiscard]] bool victims_pending(const Nomination& made) const;
  // So far.
  [[nodiscard]] std::uint64_t opened() const { return opened_; }

 private:
  template <typename Condition>
  [[nodiscard]] std::vector<std::string> where(Condition&& condition) const;

  void expect_use(const Nomination& made);

  Ledger& ledger_;
  QuotaBook& quotas_;
  std::map<std::string, Nomination> all_;  // by uid of the pod
  std::uint64_t opened_ = 0;
};

}  // namespace stowage::core
