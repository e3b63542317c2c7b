// What the engine is told (Event) and what it wants done (Command). Replies to commands come back
// as events. All of it is plain data.
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
  std::optional<NamedAssignment> cards;  // the node need not show them
  // When its cards were chosen, in nanoseconds, if it carries our own answer; 0: somebody else
  // placed it. No two of our decisions have one time.
  std::int64_t placed = 0;
  bool placed_by_then = false;  // it was then or earlier: that is all that is known
};
// The kubelet says which cards a pod on a node has, of which nobody else has said so.
struct CardsNamed {
  std::string uid;
  std::string node;
  std::vector<ContainerSpec> containers;  // of the pod: names, phases and cards that they ask for
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
struct PodHeld {  // an unbound pod that was promised cards, by a hold that outlived our memory of
                  // it
  PodSpec pod;
  std::string node;
  NamedAssignment cards;  // none named: their number is held
  std::int64_t made = 0;  // when, in nanoseconds by the wall clock
  base::Instant until;
  // By us, and its scheduler may bind the pod by it: it is held whatever others have done to the
  // cards or to the quota since, and while the node lacks the cards.
  bool is_signed = false;
};
// Of a hold that ends when it is said to (HoldEnded), and not by itself.
inline constexpr base::Instant kUntilTold{std::numeric_limits<std::int64_t>::max()};
// The pod of a hold was looked up, and is on no node although its time is over. Nothing if it has
// been claimed since.
struct HoldEnded {
  std::string uid;
};
struct QuotaChanged {
  Quotas quotas;
};
// Somebody says that an unbound pod is about to go to this node (status.nominatedNodeName); empty:
// no longer.
struct PodNominated {
  PodSpec pod;
  std::string node;
};
// Things that scheduling rules speak of, besides nodes and pods.
using Thing = std::variant<Namespace, Claim, Volume, StorageClass, StorageDriver, StorageCapacity,
                           NodeVolumeLimits, Attachment, Budget>;
enum class ThingKind : std::uint8_t {  // positions in Thing
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
inline constexpr std::size_t kThingKinds = std::variant_size_v<Thing>;
struct ThingChanged {  // appeared, or is now like this
  Thing now;
};
struct ThingGone {
  ThingKind kind = ThingKind::name_space;
  std::string name;  // as in the thing; of NodeVolumeLimits the node
};
// How busy cards of a node are, in thousandths, as its agent has measured; it counts until then.
// What was measured before does not count any more.
struct CardsMeasured {
  struct Busy {
    std::string card;  // its id
    std::int32_t permille = 0;
  };
  std::string node;
  std::vector<Busy> busy;
  base::Instant until;
};
// The agent of the node has not been heard for a while, or is heard again.
struct NodeSilent {
  std::string node;
  bool silent = false;
};
struct EvictFailed {  // the victim is still there, and will not go
  std::string uid;
};
struct Picked {  // the outside picker's answer; empty node: it has none, or did not answer in time
  std::string uid;
  std::uint64_t generation = 0;
  std::string node;
};
struct Tick {  // time has passed: pods that rested are tried again, holds that ran out are dropped
  bool parked = true;  // and parked pods are tried, come what may
};
// Nothing has happened. The engine goes on with what it left undone (Engine::unfinished).
struct Continue {};
// We decide nothing from now on: pods that wait, are being bound or hold something are forgotten
// as if they had gone. Who is on a node stays.
struct StandDown {};
// We decide, and every pod that is on a node has been told of: from now on pods that were given the
// same share of a card are told apart.
struct Lead {};
using Event = std::variant<NodeChanged, NodeGone, PodPending, PodSeenBound, BindDone, BindFailed,
                           PodGone, PodHeld, QuotaChanged, Tick, PodNominated, ThingChanged,
                           ThingGone, EvictFailed, Picked, StandDown, Lead, HoldEnded,
                           CardsMeasured, CardsNamed, NodeSilent, Continue>;

// A claim that has to be bound before the pod can be: to this volume, or, if that is empty, to one
// that its provisioner makes for the node of the pod.
struct ClaimStep {
  std::string claim;  // "namespace/name"
  std::string volume;
  friend bool operator==(const ClaimStep&, const ClaimStep&) = default;
};
struct Bind {
  std::string uid;
  std::string node;
  NamedAssignment cards;  // the node may have lost them by the time of the bind: BindFailed then
  std::vector<ClaimStep> claims;
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
struct Evict {  // delete the victim: a more important pod needs its room
  std::string uid;
  std::string by;  // uid of that pod
  std::string node;
  friend bool operator==(const Evict&, const Evict&) = default;
};
// Two pods that we placed share a card that cannot hold both: this one came later, as far as is
// known.
struct CardConflict {
  std::string uid;
  std::string with;  // uid of a pod that was given it earlier, and stays
  std::string node;
  std::string card;       // its id
  bool evict = false;     // delete it; else people are told, and that is all
  bool in_doubt = false;  // nobody knows which of the two came first: never deleted
  friend bool operator==(const CardConflict&, const CardConflict&) = default;
};
// The pod has room held for it on this node, which is not all free yet. Empty: no longer.
struct Nominate {
  std::string uid;
  std::string node;
  std::int32_t cards = 0;  // that are held for it by now, of the cards that it wants
  std::int32_t wanted = 0;
  bool preempts = false;  // victims make the room; else it is kept as it falls free
  friend bool operator==(const Nominate&, const Nominate&) = default;
};
// A candidate for the outside picker: what it may look at.
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
// Where should the pod go? The first candidate is what happens without an answer: it is reserved.
struct AskPicker {
  std::string uid;
  std::uint64_t generation = 0;
  std::vector<Candidate> candidates;
  friend bool operator==(const AskPicker&, const AskPicker&) = default;
};
using Command = std::variant<Bind, Refuse, Reject, Evict, Nominate, AskPicker, CardConflict>;
using Commands = std::vector<Command>;

}  // namespace stowage::core
