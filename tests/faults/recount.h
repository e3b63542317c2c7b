// Compares the ledger of a replica with a recount from the API's objects.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "core/engine/engine.h"
#include "objects.h"
#include "plan.h"

namespace stowage::faults {

// What the API has, and the pods (by uid) on which a user wrote cards by hand: which cards those
// have is a matter of opinion.
struct Truth {
  const Plan& plan;
  Views& views;
  const std::set<std::string>& edited;
  const local::Store& store;
};

// What the pod says of its cards counts: it speaks of its node, of cards that are there, and of
// what the pod asks for.
[[nodiscard]] bool cards_known(const Truth& truth, const PodView& pod, const NodeView& node);

// Whether the hold of a pod (by uid) that has gone may still be there. A hold begins with a
// question of kube-scheduler, and nobody promises that its pod is ever seen: it may come and go
// while a watch hangs. What is promised is that a hold runs out.
using MayLinger = std::function<bool(const std::string& uid)>;

// Requires: the replica has heard of everything. Empty: all is well; else the first difference.
[[nodiscard]] std::string recount(const Truth& truth, core::Engine& engine,
                                  const MayLinger& may_linger);

// A pod that waits although it would fit, counted from the API's objects alone; an empty text:
// none. Nodes with pods of unknown cards are passed over.
struct Waiting {
  std::string why;
  bool untrusted = false;  // on that node, an unbound pod says that it was pre-allocated cards
};
[[nodiscard]] Waiting waits_in_vain(const Truth& truth);

}  // namespace stowage::faults
