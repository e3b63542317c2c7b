// Why a node, or every node, refuses a pod: a value with numbers. The event, the condition, the
// command line, the API and the metrics all render this one value (explain/render.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace stowage::core {

// In the order in which one is preferred over the other when a node fails for several reasons, and
// when as many nodes fail for the one as for the other.
enum class ReasonCode : std::uint8_t {
  none,                  // fits
  not_schedulable,       // node is cordoned or going away
  taint,                 // the pod does not tolerate a taint of the node
  node_affinity,         // the node is not one that the pod's selector or affinity accepts
  no_cards,              // the node has no card at all
  not_offered,           // it has cards, but not by the resource that the pod names
  model_mismatch,        // no card of an accepted model
  quota,                 // the quota of the pod's namespace does not allow it here
  id_mismatch,           // no card with an accepted id
  unhealthy,             // accepted cards are all sick
  cards,                 // fewer cards with enough room than asked: asked / found (cards)
  card_milli,            // no card with enough compute left: asked / largest hole (milli)
  card_memory,           // ... memory left (MiB)
  card_slots,            // ... places left (containers)
  numa,                  // cards fit, but not within one NUMA node
  link,                  // cards fit, but not joined by NVLink
  held_back,             // fits, but the cards are kept for pods that need several at once
  cpu,                   // asked / free (milli)
  memory,                // bytes
  ephemeral,             // bytes
  pods,                  // places for pods
  extended,              // another resource of the node; the least satisfied one
  host_port,             // a port of the host that the pod wants is taken
  pod_affinity,          // no pod near by that the pod wants to be with
  pod_anti_affinity,     // a pod near by that the pod does not want to be with
  others_anti_affinity,  // a pod near by that does not want to be with this one
  spread,                // the pods of the spread constraint would be too uneven
  spread_label,          // the node has no label by which to spread
  claim,                 // a volume claim that can not be used on any node: `what` says why
  volume_node,           // a bound volume can not be reached from the node
  volume_none,           // no volume for a claim that waits for its first consumer
  volume_limit,          // as many volumes attached as the driver allows
  volume_in_use,         // a disk, or a ReadWriteOncePod claim, that another pod uses
  search,                // cards: enough in all, but not all ways to share it out were tried yet
};
inline constexpr std::size_t kReasonCodes = static_cast<std::size_t>(ReasonCode::search) + 1;

struct Reason {
  ReasonCode code = ReasonCode::none;
  // True if nothing else stands in the way on this node, so that `found` is what would fit.
  bool only = false;
  std::int64_t asked = 0;
  std::int64_t found = 0;  // what the node has left of it: the largest hole
  friend bool operator==(const Reason&, const Reason&) = default;
};

// One code of a refusal: how many nodes gave it, and the best number among them.
struct ReasonCount {
  ReasonCode code = ReasonCode::none;
  std::int64_t nodes = 0;
  std::int64_t asked = 0;
  std::int64_t best = 0;        // largest `found` over these nodes
  std::int64_t best_only = -1;  // the same over nodes where nothing else is in the way; -1: none
  // The resources that `extended` speaks of, or what is wrong with a claim; of other codes the
  // names that belong to them: models, cards, nodes.
  std::string what;
  friend bool operator==(const ReasonCount&, const ReasonCount&) = default;
};

// A limit of the namespace's quota that the pod would exceed.
struct QuotaExcess {
  enum class Unit : std::uint8_t { cards, milli, memory_mib };
  std::string model;  // as the quota names it; "*": all models together
  Unit unit = Unit::cards;
  std::int64_t asked = 0;  // by the pod
  std::int64_t used = 0;   // by the other pods of the namespace
  std::int64_t allowed = 0;
  friend bool operator==(const QuotaExcess&, const QuotaExcess&) = default;
};

// Why no node takes the pod. `counts` is ordered: most nodes first, then by code; its first entry
// is the dominant reason.
struct Refusal {
  std::int64_t nodes = 0;
  std::vector<ReasonCount> counts;
  // Set: the pod would be refused for this by every node, also by one that is not there yet.
  ReasonCode on_any_node = ReasonCode::none;
  std::vector<QuotaExcess> quota;  // where the quota is among the reasons
  // Room that is held for other pods, which wait longer or are more important.
  std::int64_t kept_cards = 0;
  std::string kept_for;  // one of them, "namespace/name"
  // What is done about it: pods of less importance are being evicted here, or room is kept as it
  // falls free.
  std::string making_room_on;
  std::int32_t victims = 0;
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

// The code as the stable word used in metrics and JSON, e.g. "card_memory".
[[nodiscard]] const char* to_word(ReasonCode code);

}  // namespace stowage::core
