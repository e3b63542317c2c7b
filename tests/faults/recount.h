// Compares the ledger of a replica with a recount from the API's objects.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "core/engine/engine.h"
#include "objects.h"
#include "plan.h"

namespace stowage::faults {

// The objects of the API, and the pods (by uid) whose cards a user has edited: the cards of those
// are undefined.
struct Truth {
  const Plan& plan;
  Views& views;
  const std::set<std::string>& edited;
  const local::Store& store;
};

// True if the pod's annotation counts: it names its node, existing cards, and what the pod
// requests.
[[nodiscard]] bool cards_known(const Truth& truth, const PodView& pod, const NodeView& node);

// Whether the hold of a deleted pod (by uid) may still exist. A hold begins with a request of
// kube-scheduler, and its pod may never be seen: it may come and go while a watch hangs. Only the
// expiry of the hold is guaranteed.
using MayLinger = std::function<bool(const std::string& uid)>;

// Requires: the replica has received everything. Empty: no difference; otherwise the first one.
[[nodiscard]] std::string recount(const Truth& truth, core::Engine& engine,
                                  const MayLinger& may_linger);

// A pod that waits although it would fit, counted from the API's objects alone; an empty text:
// none. Nodes with unnamed cards are skipped.
struct Waiting {
  std::string why;
  bool untrusted = false;  // on that node, an unbound pod has a pre-allocation
};
[[nodiscard]] Waiting waits_in_vain(const Truth& truth);

}  // namespace stowage::faults
