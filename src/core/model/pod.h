// What a pod asks for, per container, and what it was given.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/around.h"
#include "core/model/node.h"
#include "core/model/policy.h"
#include "core/model/quota.h"
#include "core/model/resources.h"
#include "core/model/rules.h"

namespace stowage::core {

// App containers and sidecars run together; plain init containers run one after another before
// the app, beside the sidecars that were started before them.
enum class Phase : std::uint8_t { app, init, sidecar };

enum class Topology : std::uint8_t { none, numa, numa_strict, link, link_strict };

// Which cards a container accepts. Empty lists accept every card. Both kinds of list apply.
struct CardFilter {
  enum class Match : std::uint8_t { equal, contains };  // without regard to case
  Match model_match = Match::equal;
  std::vector<std::string> models_any;
  std::vector<std::string> models_none;
  std::vector<std::string> ids_any;
  std::vector<std::string> ids_none;

  [[nodiscard]] bool constrains_models() const {
    return !models_any.empty() || !models_none.empty();
  }
  [[nodiscard]] bool constrains_ids() const { return !ids_any.empty() || !ids_none.empty(); }
  friend bool operator==(const CardFilter&, const CardFilter&) = default;
};

// True if a card of this model / with this id is accepted. Blank list entries are ignored.
[[nodiscard]] bool accepts_model(const CardFilter& filter, const std::string& model);
[[nodiscard]] bool accepts_id(const CardFilter& filter, const std::string& id);

inline constexpr std::int32_t kWholeMemory = -1;  // all memory of the card, whatever it has
// As large a part of the card's memory as `milli` is of its compute, rounded down: so shares that
// fit by their compute fit by their memory. None of a card whose memory is unknown.
inline constexpr std::int32_t kMemoryWithCore = -2;
[[nodiscard]] constexpr std::int32_t memory_with_core(std::int32_t milli, std::int32_t card_mib) {
  return static_cast<std::int32_t>(std::int64_t{milli} * card_mib / kMilliPerCard);
}

// `count` different cards, and of each: milli and MiB. Unset is not zero:
//   both unset             whole cards (1000 milli, all memory, every slot)
//   only memory set        a share of memory; compute is not limited and not charged
//   only milli set, < 1000 a share of compute; memory is not charged (see kMemoryWithCore)
//   milli = 1000           a whole card, with all its memory
struct GpuAsk {
  std::int32_t count = 0;
  std::optional<std::int32_t> milli;
  std::optional<std::int32_t> memory_mib;
  CardFilter filter;
  Topology topology = Topology::none;

  [[nodiscard]] bool whole() const {
    return (!milli && !memory_mib) || milli.value_or(0) == kMilliPerCard;
  }
  friend bool operator==(const GpuAsk&, const GpuAsk&) = default;
};

struct ContainerSpec {
  std::string name;
  Phase phase = Phase::app;
  Resources resources;
  GpuAsk gpu;

  friend bool operator==(const ContainerSpec&, const ContainerSpec&) = default;
};

// Must the cards of the pod be named? A device plugin that takes whatever card is free makes any
// claim of ours false, and needs none.
enum class Naming : std::uint8_t {
  always,    // on a node where cards are taken that nobody has named, it gets none of the idle ones
  if_known,  // there it may be placed by the number of cards alone
  never,     // it is placed by the number of cards everywhere
};

struct PodSpec {
  std::string uid;
  std::string name;  // "namespace/name"
  std::int32_t priority = 0;
  std::vector<ContainerSpec> containers;  // init containers and sidecars first, in their order
  Resources overhead;
  // Pod-level requests: they replace the sum over the containers where they are set.
  std::optional<std::int64_t> pod_cpu_milli;
  std::optional<std::int64_t> pod_memory_bytes;
  std::map<std::string, std::int64_t> pod_hugepages;  // by resource name
  NodeRules rules;                                    // which nodes it accepts
  Around around;                                      // and what else it demands
  // The way in which it expects to be given its cards (whose device plugin): a node must offer it.
  // Empty: any. A card is a card, but a pod that names one plugin's resource gets no device from
  // another's.
  std::string needs;
  std::uint32_t profile = 0;       // which of the engine's policies places it
  PolicyWish wish;                 // its own, where the profile's policy is not to its liking
  Naming naming = Naming::always;  // heeded if all its cards are whole ones
  QuotaBounds bounds;              // set by the engine, from the quota of its namespace
  // ---- who gives way to whom
  bool never_preempts = false;  // preemptionPolicy: Never
  bool leaving = false;         // being deleted, but its containers may still run
  bool stays = false;           // nobody can evict it: it does not live in the API (a mirror pod)
  std::int64_t since = 0;       // when it was started, or created: larger is newer
  std::string nominated;        // status.nominatedNodeName
  // Judge its cards alone: somebody else has seen to everything else (engine/asks.h).
  bool cards_only = false;

  friend bool operator==(const PodSpec&, const PodSpec&) = default;
};

// Says in one line what is absurd about the pod (negative amounts, milli above 1000, more cards
// than any node can have, ...). Every pod passes here before the engine looks at it.
[[nodiscard]] Status validate(const PodSpec& pod);
[[nodiscard]] Status validate(const NodeSpec& node);

// The pod's claim on the node apart from cards: sidecars + max(apps, each init container with the
// sidecars before it) + overhead, and one place for a pod.
[[nodiscard]] Resources effective_resources(const PodSpec& pod);

// A share of one card. `card` is the position in NodeSpec::cards: good for as long as the node's
// cards are known to stay, which is inside one step of the engine. Everything that travels names
// cards by id (NamedShare).
struct CardShare {
  std::uint32_t card = 0;
  std::int32_t milli = 0;
  std::int32_t memory_mib = 0;
  friend bool operator==(const CardShare&, const CardShare&) = default;
};

// Which cards each container of the pod got; same order and size as PodSpec::containers.
struct Assignment {
  std::vector<std::vector<CardShare>> containers;
  friend bool operator==(const Assignment&, const Assignment&) = default;
};

// The same by the ids of the cards: it says the same whatever becomes of the node's cards.
struct NamedShare {
  std::string card;
  std::int32_t milli = 0;
  std::int32_t memory_mib = 0;
  friend bool operator==(const NamedShare&, const NamedShare&) = default;
};
struct NamedAssignment {
  std::vector<std::vector<NamedShare>> containers;
  friend bool operator==(const NamedAssignment&, const NamedAssignment&) = default;
};

// Requires: positions of the node's cards.
[[nodiscard]] NamedAssignment by_id(const Assignment& cards, const NodeSpec& node);
// By the positions that the cards have on the node now. Unset if one of them is not there.
[[nodiscard]] std::optional<Assignment> by_position(const NamedAssignment& cards,
                                                    const NodeSpec& node);
// The same where cards may be missing: these get positions behind the last card of the node, in the
// order of `absent`.
struct Positions {
  Assignment cards;
  std::vector<std::string> absent;  // ids
};
[[nodiscard]] Positions find_positions(const NamedAssignment& cards, const NodeSpec& node);

// Does it name any card? A pod that asks for cards and is given none by name is placed by number.
[[nodiscard]] bool names_cards(const Assignment& assignment);
[[nodiscard]] bool names_cards(const NamedAssignment& assignment);
[[nodiscard]] bool asks_for_cards(const PodSpec& pod);
// The namespace in PodSpec::name.
[[nodiscard]] std::string_view namespace_of(std::string_view pod_name);

// Does the assignment, as others wrote it, speak of this pod, in amounts that make sense?
[[nodiscard]] Status validate(const PodSpec& pod, const std::optional<Assignment>& cards);
[[nodiscard]] Status validate(const PodSpec& pod, const std::optional<NamedAssignment>& cards);

}  // namespace stowage::core
