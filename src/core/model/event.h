// Input of the engine (Event) and its output (Command). Replies to commands come back as events.
// All types are plain data.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/instant.h"
#include "core/model/node.h"
#include "core/model/pod.h"
#include "core/model/reason.h"
#include "core/model/storage.h"

namespace stowage::core {

struct NodeChanged {  // added or updated
  NodeSpec node;
};
struct NodeGone {
  std::string name;
};
struct PodPending {  // waits to be placed
  PodSpec pod;
};
struct PodSeenBound {  // is on a node; `cards` unset: its cards are unknown
  PodSpec pod;
  std::string node;
  std::optional<NamedAssignment> cards;  // the node need not report them
  // When its cards were chosen, in nanoseconds, if it has our annotation; 0: placed by another
  // scheduler. No two of our decisions have the same time.
  std::int64_t placed = 0;
  bool placed_by_then = false;  // the time is only an upper bound
};
// The kubelet reports the cards of a pod on a node; no other source has named them.
struct CardsNamed {
  std::string uid;
  std::string node;
  std::vector<ContainerSpec> containers;  // of the pod: names, phases and requested cards
  NamedAssignment cards;
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
struct PodHeld {  // an unbound pod with a pre-allocation from before this engine started
  PodSpec pod;
  std::string node;
  NamedAssignment cards;  // none named: their number is held
  std::int64_t made = 0;  // when, in wall-clock nanoseconds
  base::Instant until;
  // We signed it, and its scheduler may bind the pod by it. So it is held whatever others have done
  // to the cards or the quota since, and even while the node lacks the cards.
  bool is_signed = false;
};
// For a hold that does not expire, but ends with HoldEnded.
inline constexpr base::Instant kUntilTold{std::numeric_limits<std::int64_t>::max()};
// The hold's time is over, and a lookup found the pod on no node. Ignored if the pod has been
// reserved since.
struct HoldEnded {
  std::string uid;
};
struct QuotaChanged {
  Quotas quotas;
};
// An unbound pod is nominated to this node (status.nominatedNodeName); empty: no longer.
struct PodNominated {
  PodSpec pod;
  std::string node;
};
// Objects besides nodes and pods that scheduling rules refer to.
using AuxObject = std::variant<Namespace, Claim, Volume, StorageClass, StorageDriver,
                               StorageCapacity, NodeVolumeLimits, Attachment, Budget>;
enum class AuxKind : std::uint8_t {  // positions in AuxObject
  name_space,
  claim,
  volume,
  storage_class,
  storage_driver,
  storage_capacity,
  node_volume_limits,
  attachment,
  budget,
};
inline constexpr std::size_t kAuxKinds = std::variant_size_v<AuxObject>;
struct AuxObjectChanged {  // added or updated
  AuxObject now;
};
struct AuxObjectGone {
  AuxKind kind = AuxKind::name_space;
  std::string name;  // as in the object; the node's name for NodeVolumeLimits
};
// Load of a node's cards in thousandths, as its agent measured, valid until `until`. Replaces
// earlier measurements.
struct CardsMeasured {
  struct Busy {
    std::string card;  // its id
    std::int32_t permille = 0;
  };
  std::string node;
  std::vector<Busy> busy;
  base::Instant until;
};
// The agent of the node has been silent for a while, or reports again.
struct NodeSilent {
  std::string node;
  bool silent = false;
};
// The device plugin of the node's agent is registered with the kubelet, or no longer is. A node
// without such a plugin is never missing it.
struct PluginMissing {
  std::string node;
  bool missing = false;
};
struct EvictFailed {  // the victim still exists and will not be evicted
  std::string uid;
};
struct Picked {  // the outside picker's answer; empty node: no choice, or no answer in time
  std::string uid;
  std::uint64_t generation = 0;
  std::string node;
};
struct Tick {  // time has passed: pods are tried after their back-off, expired holds are dropped
  bool parked = true;  // also try some parked pods
};
// No event. The engine continues its deferred steps (Engine::unfinished).
struct Continue {};
// This engine decides nothing from now on. Pods that wait, are being bound, or hold something are
// dropped as if deleted. Pods on nodes stay.
struct StandDown {};
// This engine decides from now on, and all pods on nodes have been announced. From now on it
// resolves conflicts of pods that were given the same share of a card.
struct Lead {};
using Event = std::variant<NodeChanged, NodeGone, PodPending, PodSeenBound, BindDone, BindFailed,
                           PodGone, PodHeld, QuotaChanged, Tick, PodNominated, AuxObjectChanged,
                           AuxObjectGone, EvictFailed, Picked, StandDown, Lead, HoldEnded,
                           CardsMeasured, CardsNamed, NodeSilent, PluginMissing, Continue>;

// A claim that must be bound before the pod: to this volume, or, if empty, to one that its
// provisioner creates for the pod's node.
struct ClaimStep {
  std::string claim;  // "namespace/name"
  std::string volume;
  friend bool operator==(const ClaimStep&, const ClaimStep&) = default;
};
struct Bind {
  std::string uid;
  std::string node;
  NamedAssignment cards;  // if the node has lost them by the time of the bind, the bind fails
  std::vector<ClaimStep> claims;
  friend bool operator==(const Bind&, const Bind&) = default;
};
struct Refuse {  // the pod stays in the queue and is tried again when an event can help
  std::string uid;
  Refusal refusal;
  friend bool operator==(const Refuse&, const Refuse&) = default;
};
struct Reject {  // the event was invalid (an absurd request, a malformed node); nothing changed
  std::string subject;
  std::string why;
  friend bool operator==(const Reject&, const Reject&) = default;
};
struct Evict {  // delete the victim: a more important pod needs its capacity
  std::string uid;
  std::string by;  // uid of that pod
  std::string node;
  friend bool operator==(const Evict&, const Evict&) = default;
};
// Two pods that we placed share a card that cannot hold both. This one was placed later, as far as
// is known.
struct CardConflict {
  std::string uid;
  std::string with;  // uid of a pod that was placed earlier and stays
  std::string node;
  std::string card;       // its id
  bool evict = false;     // delete the pod; otherwise only report the conflict
  bool in_doubt = false;  // it is unknown which of the two was first: never deleted
  friend bool operator==(const CardConflict&, const CardConflict&) = default;
};
// Capacity is kept for the pod on this node, but not all of it is free yet. Empty: no longer.
struct Nominate {
  std::string uid;
  std::string node;
  std::int32_t cards = 0;  // kept so far, of the cards that it needs
  std::int32_t wanted = 0;
  bool preempts = false;  // victims free the capacity; otherwise it is kept as it becomes free
  friend bool operator==(const Nominate&, const Nominate&) = default;
};
// A candidate for the outside picker, with the data that it may use.
struct Candidate {
  std::string node;
  std::uint64_t cost = 0;  // by the profile's own policy; lower is better
  std::int64_t cpu_free_milli = 0;
  std::int64_t memory_free_bytes = 0;
  std::int32_t cards = 0;
  std::int32_t cards_idle = 0;
  std::int64_t milli_free = 0;        // over all cards
  std::int64_t card_memory_free = 0;  // MiB over all cards
  std::int32_t pods = 0;
  friend bool operator==(const Candidate&, const Candidate&) = default;
};
// Asks where the pod should go. The first candidate is reserved and is used without an answer.
struct AskPicker {
  std::string uid;
  std::uint64_t generation = 0;
  std::vector<Candidate> candidates;
  friend bool operator==(const AskPicker&, const AskPicker&) = default;
};
using Command = std::variant<Bind, Refuse, Reject, Evict, Nominate, AskPicker, CardConflict>;
using Commands = std::vector<Command>;

}  // namespace stowage::core
