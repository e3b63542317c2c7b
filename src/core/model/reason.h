// Why one node, or every node, refuses a pod: a value with numbers. The event, the condition, the
// command line, the API and the metrics all render this value (explain/render.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stowage::core {

// The order counts in two places: a refusal lists reasons of equally many nodes in it, and a code
// after `quota` implies that the node has a card of an accepted model (engine/refusals.cc). Which
// reason a node gets if it fails for several is decided by the code that judges it: why_not() in
// place/judge.cc, then ConstraintFilter::check(). `search` stays last (kReasonCodes).
enum class ReasonCode : std::uint8_t {
  none,                  // fits
  not_schedulable,       // the node is cordoned or being removed
  taint,                 // the pod does not tolerate a taint of the node
  node_affinity,         // the pod's selector or affinity does not accept the node
  no_cards,              // the node has no cards
  not_offered,           // the node has cards, but does not offer the resource that the pod names
  plugin,                // the device plugin of the node's agent is not registered with the kubelet
  model_mismatch,        // no card of an accepted model
  quota,                 // the quota of the pod's namespace does not allow it here
  id_mismatch,           // no card with an accepted id
  unhealthy,             // accepted cards are all unhealthy
  cards,                 // fewer cards with enough capacity than asked: asked / found (cards)
  card_milli,            // no card with enough compute left: asked / largest hole (milli)
  card_memory,           // ... memory left (MiB)
  card_slots,            // ... slots left (containers)
  numa,                  // cards fit, but not within one NUMA node
  link,                  // cards fit, but are not connected by NVLink
  held_back,             // fits, but the cards are kept for pods that need several at once
  cpu,                   // asked / free (milli)
  memory,                // bytes
  ephemeral,             // bytes
  pods,                  // number of pods
  extended,              // another resource of the node; the least satisfied one
  host_port,             // a host port of the pod is in use
  pod_affinity,          // no pod in the topology domain that the pod's affinity requires
  pod_anti_affinity,     // a pod in the topology domain that the pod's anti-affinity excludes
  others_anti_affinity,  // a pod in the topology domain whose anti-affinity excludes this pod
  spread,                // the topology spread would exceed its maximum skew
  spread_label,          // the node lacks the topology label
  claim,                 // a volume claim that cannot be used on any node: `what` says why
  volume_node,           // a bound volume cannot be used on the node
  volume_none,           // no volume for a claim that waits for its first consumer
  volume_limit,          // the driver's limit of attached volumes is reached
  volume_in_use,         // a disk, or a ReadWriteOncePod claim, that another pod uses
  search,                // enough card capacity in total, but not all assignments were tried yet
};
inline constexpr std::size_t kReasonCodes = static_cast<std::size_t>(ReasonCode::search) + 1;

struct Reason {
  ReasonCode code = ReasonCode::none;
  // True if this is the only reason on this node, so `found` is what would fit.
  bool only = false;
  std::int64_t asked = 0;
  std::int64_t found = 0;  // the node's free amount: the largest hole
  friend bool operator==(const Reason&, const Reason&) = default;
};

// One code of a refusal: the number of nodes with it, and the best value among them.
struct ReasonCount {
  ReasonCode code = ReasonCode::none;
  std::int64_t nodes = 0;
  std::int64_t asked = 0;
  std::int64_t best = 0;        // largest `found` over these nodes
  std::int64_t best_only = -1;  // the same over nodes without another reason; -1: none
  // The resources of `extended`, or the problem of a claim; for other codes the names of models,
  // cards or nodes.
  std::string what;
  friend bool operator==(const ReasonCount&, const ReasonCount&) = default;
};

// A limit of the namespace's quota that the pod would exceed.
struct QuotaExcess {
  enum class Unit : std::uint8_t { cards, milli, memory_mib };
  std::string model;  // as the quota names it; "*": all models together
  Unit unit = Unit::cards;
  std::int64_t asked = 0;  // of the pod
  std::int64_t used = 0;   // of the namespace's other pods
  std::int64_t allowed = 0;
  friend bool operator==(const QuotaExcess&, const QuotaExcess&) = default;
};

// Why no node takes the pod. `counts` is ordered: most nodes first, then by code; its first entry
// is the dominant reason.
struct Refusal {
  std::int64_t nodes = 0;
  std::vector<ReasonCount> counts;
  // Set: every node would refuse the pod for this reason, including new nodes.
  ReasonCode on_any_node = ReasonCode::none;
  std::vector<QuotaExcess> quota;  // if the quota is among the reasons
  // Cards that are kept for nominated pods, which have waited longer or are more important.
  std::int64_t kept_cards = 0;
  std::string kept_for;  // one of them, "namespace/name"
  // The node on which less important pods are being evicted for this pod, or capacity is kept as it
  // becomes free.
  std::string making_room_on;
  std::int32_t victims = 0;
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

// The stable name of the code in metrics and JSON, e.g. "card_memory".
[[nodiscard]] const char* to_string(ReasonCode code);

}  // namespace stowage::core
