// Requests of an outside scheduler about pods that it places itself, and the answers. They match
// the extender's four calls. The engine never queues or binds these external pods, but their cards
// are in the same ledger.
//
//   filter -> Held --reserve--> Reserved --BindDone--> Bound       filter again: the hold moves
//              |                   |                               reserve without a hold: checked
//              | until             | BindFailed, PodGone           and reserved all the same
//              v                   v
//            (free)              (free)
//
// Only cards, and the resources that the pod names to get them, are judged. CPU, memory, taints and
// the rest are judged by the outside scheduler. A pod's own hold never blocks the pod.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "core/model/pod.h"
#include "core/model/reason.h"

namespace stowage::core {

enum class HoldMode : std::uint8_t {
  nothing,  // dry run: nothing changes
  hold,     // hold the best node's cards until `until`; answer with all nodes that fit
  one,      // the same, but answer only with that node
};

struct FilterRequest {
  PodSpec pod;
  std::vector<std::string> nodes;
  HoldMode keep = HoldMode::hold;
  base::Instant until;
  std::string prefer;  // chosen if the pod fits there, regardless of the policy
};

// The cards of an external pod. A pod that is placed by number has no named cards.
struct CardPlacement {
  std::string node;
  NamedAssignment cards;
  friend bool operator==(const CardPlacement&, const CardPlacement&) = default;
};

struct FilterAnswer {
  struct Refused {
    std::uint32_t node = 0;  // position in FilterRequest::nodes
    Reason reason;           // code none: the pod fits, but another node was chosen (HoldMode::one)
    bool unknown = false;    // the ledger has no such node
  };
  std::vector<std::uint32_t> fits;  // positions in FilterRequest::nodes, in their order
  std::vector<Refused> refused;
  std::optional<CardPlacement> held;
  std::string binding_to;  // set: the pod is reserved or bound on this node; nothing was judged
  Refusal refusal;         // over the known nodes that refused, if none fits
};

// For each node of the request: 10 for the best, less for others by rank, 0 where the pod does not
// fit. Equal nodes have equal scores.
using Scores = std::vector<std::int32_t>;
inline constexpr std::int32_t kMaxScore = 10;
// Answers the same request; ignores `keep` and `prefer`, and moves the hold to the best of the
// nodes.
struct ScoreAnswer {
  Scores scores;
  std::optional<CardPlacement> held;
};

struct ReserveRequest {
  PodSpec pod;
  std::string node;
};
struct ReserveAnswer {
  std::optional<CardPlacement> place;  // reserved, until BindDone, BindFailed or PodGone
  bool again = false;    // with `place`: it was already reserved, and its bind is in progress
  bool held = false;     // with `place`: it was held since the filter request
  std::string bound_to;  // set: the pod is reserved or bound on this node; nothing was done
  Reason reason;         // why the reservation failed
  bool unknown = false;  // the ledger has no such node
};

// Asks which pods must be evicted so that the pod fits on a node.
struct PreemptRequest {
  struct Candidate {
    std::string uid;
    bool given = false;  // proposed by the outside scheduler; these come first
  };
  struct OnNode {
    std::string node;
    // In the order in which they may be chosen: the proposed victims, then others that could be
    // added. Pods that must stay are not listed. A pod that is listed again counts once.
    std::vector<Candidate> candidates;
  };
  PodSpec pod;
  std::vector<OnNode> nodes;  // the best first: the work is limited, so the last may not be reached
};
struct PreemptAnswer {
  struct OnNode {
    std::string node;
    std::vector<std::string> victims;  // uids: the proposed ones, and as few others as possible
    std::int32_t kept = 0;             // number of proposed victims
    std::int32_t added = 0;
  };
  std::vector<OnNode> nodes;  // only nodes that were reached and where eviction makes the pod fit
};

}  // namespace stowage::core
