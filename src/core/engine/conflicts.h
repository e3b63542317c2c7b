// Pods that were given the same share of a card. It cannot happen while one replica decides; if it
// has happened all the same, the pod that was given it first keeps its place.
//
// Only pods that we placed are told apart: what others do to a card is debt. Their order is that of
// our decisions. Priority plays no part, so no pod gains by claiming one. Where the times do not
// say which was first, people are told and no pod is evicted: the wrong one might be.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "core/ledger/ledger.h"
#include "core/model/event.h"

namespace stowage::core {

class CardConflicts {
 public:
  // `evicts`: the later pods are to be evicted; else they are only named.
  CardConflicts(const Ledger& ledger, bool evicts) : ledger_(ledger), evicts_(evicts) {}

  // Only a leader settles conflicts: all that there are when it becomes one, then those of nodes
  // that come and of pods that turn out to be placed by us.
  void lead(Commands& out);
  void stand_down();
  // Tells of each pod once. Cost: a sort of the node's pods.
  void settle(NodeIndex node, Commands& out);
  void forget(const std::string& uid) { told_.erase(uid); }
  // So far.
  [[nodiscard]] std::uint64_t found() const { return found_; }

 private:
  const Ledger& ledger_;
  bool evicts_;
  bool leads_ = false;
  std::set<std::string> told_;  // uids of pods
  std::uint64_t found_ = 0;
};

}  // namespace stowage::core
