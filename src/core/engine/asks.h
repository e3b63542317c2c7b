// What an outside scheduler asks the engine about pods that it places itself, and the answers: the
// extender's four questions. The pods are its guests: the engine never queues or binds them, but
// their cards are in the same ledger.
//
//   filter -> Held --claim--> Reserved --BindDone--> Bound         filter again: the hold moves
//              |                 |                                 claim without a hold: checked
//              and | until           | BindFailed, PodGone             reserved all the same v v
//            (free)            (free)
//
// Only cards and what the pod names to get them are judged: CPU, memory, taints and the rest are
// the outside scheduler's business. A pod's own hold never stands in its own way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "core/model/pod.h"
#include "core/model/reason.h"

namespace stowage::core {

enum class Keep : std::uint8_t {
  nothing,  // a dry run: nothing changes
  hold,     // the best node's cards are held until `until`; all nodes that fit are answered
  one,      // the same, and only that node is answered
};

struct FilterAsk {
  PodSpec pod;
  std::vector<std::string> nodes;
  Keep keep = Keep::hold;
  base::Instant until;
  std::string prefer;  // taken if the pod fits there, whatever the policy thinks
};

// Where a guest's cards are. No cards are named for a pod that is placed by their number alone.
struct Place {
  std::string node;
  NamedAssignment cards;
  friend bool operator==(const Place&, const Place&) = default;
};

struct FilterAnswer {
  struct Refused {
    std::uint32_t node = 0;  // position in FilterAsk::nodes
    Reason reason;           // code none: it would fit, but another node was taken (Keep::one)
    bool unknown = false;    // the ledger has no such node
  };
  std::vector<std::uint32_t> fits;  // positions in FilterAsk::nodes, in their order
  std::vector<Refused> refused;
  std::optional<Place> held;
  std::string binding_to;  // set: the pod is on its way to, or on, this node; nothing was asked
  Refusal refusal;         // over the refused nodes that are known, if none fits
};

// For each node of the ask: 10 for the best, less for others by their order, 0 where the pod does
// not fit. Equal nodes have equal scores.
using Scores = std::vector<std::int32_t>;
inline constexpr std::int32_t kMaxScore = 10;
// Answers the same ask; `keep` and `prefer` are not looked at, and the hold moves to the best of
// the nodes.
struct ScoreAnswer {
  Scores scores;
  std::optional<Place> held;
};

struct ClaimAsk {
  PodSpec pod;
  std::string node;
};
struct ClaimAnswer {
  std::optional<Place> place;  // reserved, until BindDone, BindFailed or PodGone
  bool again = false;          // with `place`: it was claimed before, its bind is under way
  bool held = false;           // with `place`: it was held since it was chosen
  std::string bound_to;        // set: the pod is on, or on its way to, this node; nothing was done
  Reason reason;               // why not
  bool unknown = false;        // the ledger has no such node
};

// Which pods would have to go so that the pod fits on a node.
struct PreemptAsk {
  struct Candidate {
    std::string uid;
    bool given = false;  // proposed by the outside scheduler; such ones come first
  };
  struct OnNode {
    std::string node;
    // In the order in which they may be chosen: the given ones, then those that would have to be
    // added. Pods that must stay are not in the list.
    std::vector<Candidate> candidates;
  };
  PodSpec pod;
  std::vector<OnNode> nodes;
};
struct PreemptAnswer {
  struct OnNode {
    std::string node;
    std::vector<std::string> victims;  // uids; the given ones, and as few others as will do
    std::int32_t kept = 0;             // victims that were given
    std::int32_t added = 0;
  };
  std::vector<OnNode> nodes;  // only those on which it helps
};

}  // namespace stowage::core
