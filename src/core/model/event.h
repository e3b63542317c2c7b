// What the engine is told (Event) and what it wants done (Command). Replies to commands come back
// as events. All of it is plain data.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/instant.h"
#include "core/model/node.h"
#include "core/model/pod.h"
#include "core/model/reason.h"

namespace stowage::core {

struct NodeChanged {  // appeared, or is now like this
  NodeSpec node;
};
struct NodeGone {
  std::string name;
};
struct PodPending {  // wants a place
  PodSpec pod;
};
struct PodSeenBound {  // is on a node; `cards` unset: nobody has said which cards it uses
  PodSpec pod;
  std::string node;
  std::optional<Assignment> cards;
};
struct BindDone {
  std::string uid;
};
struct BindFailed {
  std::string uid;
};
struct PodGone {  // finished or deleted: its containers no longer run
  std::string uid;
};
struct PodHeld {  // an unbound pod that was promised cards, by a hold that outlived our memory of
                  // it
  PodSpec pod;
  std::string node;
  Assignment cards;
  base::Instant until;
};
struct QuotaChanged {
  Quotas quotas;
};
struct Tick {  // time has passed: pods that rested are tried again, holds that ran out are dropped
  bool parked = true;  // and parked pods are tried, come what may
};
using Event = std::variant<NodeChanged, NodeGone, PodPending, PodSeenBound, BindDone, BindFailed,
                           PodGone, PodHeld, QuotaChanged, Tick>;

struct Bind {
  std::string uid;
  std::string node;
  Assignment cards;
  friend bool operator==(const Bind&, const Bind&) = default;
};
struct Refuse {  // the pod stays in the queue and is tried again when an event can help
  std::string uid;
  Refusal refusal;
  friend bool operator==(const Refuse&, const Refuse&) = default;
};
struct Reject {  // the event made no sense (an absurd request, a malformed node); nothing changed
  std::string subject;
  std::string why;
  friend bool operator==(const Reject&, const Reject&) = default;
};
using Command = std::variant<Bind, Refuse, Reject>;
using Commands = std::vector<Command>;

}  // namespace stowage::core
