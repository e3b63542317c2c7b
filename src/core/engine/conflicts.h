// Finds pods that were given the same share of a card. This cannot happen while one replica
// decides. If it happens nevertheless, the pod that was placed first keeps the share.
//
// Only pods that we placed are compared; over-commitment by others is debt. Pods are ordered by the
// time of our decision. Priority does not matter, so no pod gains by claiming one. If the times do
// not show which pod was first, the conflict is reported and no pod is evicted, because it might be
// the wrong one.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "core/ledger/ledger.h"
#include "core/model/event.h"

namespace stowage::core {

class CardConflicts {
 public:
  // `evicts`: later pods are evicted; otherwise they are only reported.
  CardConflicts(const Ledger& ledger, bool evicts) : ledger_(ledger), evicts_(evicts) {}

  // Only a leader resolves conflicts: all existing ones when it starts to lead, then those on nodes
  // that are added and of pods that turn out to be ours.
  void lead(Commands& out);
  void stand_down();
  // Reports each pod once. Cost: a sort of the node's pods.
  void resolve(NodeIndex node, Commands& out);
  void forget(const std::string& uid) { reported_.erase(uid); }
  // Number of conflicts found so far.
  [[nodiscard]] std::uint64_t found() const { return found_; }

 private:
  const Ledger& ledger_;
  bool evicts_;
  bool leads_ = false;
  std::set<std::string> reported_;  // uids of pods
  std::uint64_t found_ = 0;
};

}  // namespace stowage::core
