// The requests of a pod, per container, and the cards that it was assigned.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/node.h"
#include "core/model/pod_constraints.h"
#include "core/model/policy.h"
#include "core/model/quota.h"
#include "core/model/resources.h"
#include "core/model/rules.h"

namespace stowage::core {

// App containers and sidecars run at the same time. Plain init containers run one after another
// before the app containers, together with the sidecars that started before them.
enum class Phase : std::uint8_t { app, init, sidecar };

enum class Topology : std::uint8_t { none, numa, numa_strict, link, link_strict };

// The cards that a container accepts. Empty lists accept every card. Both lists apply.
struct CardFilter {
  enum class Match : std::uint8_t { equal, contains };  // case-insensitive
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

inline constexpr std::int32_t kWholeMemory = -1;  // all memory of the card, whatever its size
// The same fraction of the card's memory as `milli` is of its compute, rounded down, so shares that
// fit by compute also fit by memory. 0 on a card with unknown memory.
inline constexpr std::int32_t kMemoryWithCore = -2;
[[nodiscard]] constexpr std::int32_t memory_with_core(std::int32_t milli, std::int32_t card_mib) {
  return static_cast<std::int32_t>(std::int64_t{milli} * card_mib / kMilliPerCard);
}

// `count` different cards, and of each: milli and MiB. Unset is not zero:
//   both unset             whole cards (1000 milli, all memory, every slot)
//   only memory set        a share of memory; compute is not limited and not charged
//   only milli set, < 1000 a share of compute; memory is not charged (see kMemoryWithCore)
//   milli = 1000           a whole card, with all its memory
struct GpuRequest {
  std::int32_t count = 0;
  std::optional<std::int32_t> milli;
  std::optional<std::int32_t> memory_mib;
  CardFilter filter;
  Topology topology = Topology::none;

  [[nodiscard]] bool whole() const {
    return (!milli && !memory_mib) || milli.value_or(0) == kMilliPerCard;
  }
  friend bool operator==(const GpuRequest&, const GpuRequest&) = default;
};

struct ContainerSpec {
  std::string name;
  Phase phase = Phase::app;
  Resources resources;
  GpuRequest gpu;

  friend bool operator==(const ContainerSpec&, const ContainerSpec&) = default;
};

// Whether the pod's cards must be named. A device plugin that picks any free card would contradict
// our assignment, and does not need one.
enum class Naming : std::uint8_t {
  always,    // gets no idle cards on a node where pods hold cards with unknown positions
  if_known,  // on such a node it may be placed by number
  never,     // placed by number on every node
};

// One field for each thing that a pod asks for, or that matters when it is placed.
struct PodSpec {
  std::string uid;
  std::string name;  // "namespace/name"
  std::int32_t priority = 0;
  std::vector<ContainerSpec> containers;  // init containers and sidecars first, in their order
  Resources overhead;
  // Pod-level requests. If set, they replace the sum over the containers.
  std::optional<std::int64_t> pod_cpu_milli;
  std::optional<std::int64_t> pod_memory_bytes;
  std::map<std::string, std::int64_t> pod_hugepages;  // by resource name
  NodeRules rules;                                    // which nodes it accepts
  PodConstraints constraints;                         // other demands
  // The way in which it gets its cards (which device plugin); the node must offer it. Empty: any. A
  // pod that requests the resource of one plugin gets no device from another.
  std::string needs;
  std::uint32_t profile = 0;       // which policy of the engine places it
  PolicyWish wish;                 // the pod's own policy, instead of the profile's
  Naming naming = Naming::always;  // considered if all its cards are whole
  QuotaBounds bounds;              // set by the engine from the quota of the namespace
  // ---- preemption
  bool never_preempts = false;  // preemptionPolicy: Never
  bool leaving = false;         // terminating, but its containers may still run
  bool stays =
      false;  // cannot be evicted, because it is not managed by the API server (a mirror pod)
  std::int64_t since = 0;  // start or creation time: larger is newer
  std::string nominated;   // status.nominatedNodeName
  // Judge only its cards; another scheduler judges the rest (engine/external_requests.h).
  bool cards_only = false;

  friend bool operator==(const PodSpec&, const PodSpec&) = default;
};

// Returns in one line what is invalid about the pod (negative amounts, milli above 1000, more cards
// than any node can have, ...). The engine validates every pod first.
[[nodiscard]] Status validate(const PodSpec& pod);
[[nodiscard]] Status validate(const NodeSpec& node);

// The pod's requests apart from cards: sidecars + max(apps, each init container with the sidecars
// before it) + overhead, and one pod.
[[nodiscard]] Resources effective_resources(const PodSpec& pod);

// A share of one card. `card` is the position in NodeSpec::cards. It is valid only while the node's
// cards cannot change, which is within one step of the engine. Everything that leaves the engine
// names cards by id (NamedShare).
struct CardShare {
  std::uint32_t card = 0;
  std::int32_t milli = 0;
  std::int32_t memory_mib = 0;
  friend bool operator==(const CardShare&, const CardShare&) = default;
};

// The cards of each container of the pod; same order and size as PodSpec::containers.
struct Assignment {
  std::vector<std::vector<CardShare>> containers;
  friend bool operator==(const Assignment&, const Assignment&) = default;
};

// The same by card id, so it stays valid when the node's cards change.
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

// Requires: the positions belong to cards of the node.
[[nodiscard]] NamedAssignment by_id(const Assignment& cards, const NodeSpec& node);
// By the current positions of the cards on the node. Unset if one of them is missing.
[[nodiscard]] std::optional<Assignment> by_position(const NamedAssignment& cards,
                                                    const NodeSpec& node);
// The same if cards may be missing: these get positions after the last card of the node, in the
// order of `absent`.
struct Positions {
  Assignment cards;
  std::vector<std::string> absent;  // ids
};
[[nodiscard]] Positions find_positions(const NamedAssignment& cards, const NodeSpec& node);

// True if it names any card. A pod with card requests but without named cards is placed by number.
[[nodiscard]] bool names_cards(const Assignment& assignment);
[[nodiscard]] bool names_cards(const NamedAssignment& assignment);
[[nodiscard]] bool asks_for_cards(const PodSpec& pod);
// The namespace in PodSpec::name.
[[nodiscard]] std::string_view namespace_of(std::string_view pod_name);

// Checks that an assignment from outside matches this pod and has valid amounts.
[[nodiscard]] Status validate(const PodSpec& pod, const std::optional<Assignment>& cards);
[[nodiscard]] Status validate(const PodSpec& pod, const std::optional<NamedAssignment>& cards);

}  // namespace stowage::core
