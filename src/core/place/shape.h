// A pod's request reduced to what a judgement needs. Pods with equal shapes are twins: they fit on
// the same nodes at the same cost, so everything learned about one holds for the other.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/ledger/ledger.h"
#include "core/model/pod.h"

namespace stowage::core {

// The card ids of a filter, prepared for many lookups: a filter may have hundreds of ids, and is
// applied to every card of the cluster.
class CardIds {
 public:
  CardIds() = default;
  explicit CardIds(const CardFilter& filter);
  // False: every card is accepted.
  [[nodiscard]] bool constrain() const { return !any_.empty() || !none_.empty(); }
  // The same as accepts_id().
  [[nodiscard]] bool accept(const std::string& id) const;

 private:
  std::vector<std::string> any_;  // sorted, lower case, without blank entries
  std::vector<std::string> none_;
};

// The cards that one container requests.
struct GpuPart {
  std::uint32_t container = 0;  // position in PodSpec::containers
  Phase phase = Phase::app;
  bool whole = false;
  bool whole_memory = false;      // a share of compute, with all the memory
  bool memory_with_core = false;  // a share of compute, with the same fraction of the memory
  Topology topology = Topology::none;
  std::int32_t count = 0;
  std::int32_t milli = 0;       // per card; 1000 if whole
  std::int32_t memory_mib = 0;  // per card; a whole card must have at least this much
  CardFilter filter;
  CardIds ids;                            // of the filter
  std::vector<std::uint8_t> model_ok;     // by model number; see Shape::learn_names
  std::vector<std::uint8_t> model_spent;  // accepted, but the quota is used up; empty: none

  // As in GpuRequest: an amount, kWholeMemory or kMemoryWithCore.
  [[nodiscard]] std::int32_t memory_asked() const {
    return whole_memory ? kWholeMemory : memory_with_core ? kMemoryWithCore : memory_mib;
  }
  // The memory that it takes on a card with this much memory.
  [[nodiscard]] std::int32_t memory_of(std::int32_t card_mib) const {
    if (whole || whole_memory) return card_mib;
    return memory_with_core ? core::memory_with_core(milli, card_mib) : memory_mib;
  }
  // The same for a card of the ledger, for costs. Approximate if there are very many sizes of
  // cards.
  [[nodiscard]] std::int32_t memory_of(const CardState& card, const Ledger& ledger) const {
    if (whole || whole_memory) return card.memory_free_mib;
    if (!memory_with_core) return memory_mib;
    return core::memory_with_core(milli, ledger.names().memory().sizes()[card.memory_class]);
  }
};

// One field for each part of a request that a verdict depends on.
struct Shape {
  std::string key;  // equal keys, equal shapes
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t ephemeral_bytes = 0;
  std::vector<std::pair<std::uint32_t, std::int64_t>> extended;  // resource number, amount
  std::vector<std::string> extended_names;  // names of these, in the same order
  std::vector<GpuPart> parts;               // containers with cards, in container order
  NodeRules rules;
  bool selective = false;   // has a node selector, required node affinity or bounds by quota
  bool cards_only = false;  // see PodSpec
  QuotaBounds bounds;
  Naming naming = Naming::always;  // not `always` only if all cards are whole
  std::uint32_t needs = 0;         // bit of NodeState::offers; 0: any node

  // Derived, for policies: the maximum over the life of the pod.
  std::int32_t cards = 0;      // cards held at once, if every container gets its own
  std::int64_t gpu_milli = 0;  // compute held at once
  bool simple = false;         // at most one part, without card ids, topology or whole memory

  [[nodiscard]] bool share() const { return parts.size() == 1 && !parts[0].whole; }

  // Updates resource numbers and model_ok to the names in the ledger. Cheap if nothing is new.
  void learn_names(const Ledger& ledger);

 private:
  std::uint64_t models_version_ = 0;
  std::uint64_t resources_version_ = 0;
};

// Requires: validate(pod).
[[nodiscard]] Shape make_shape(const PodSpec& pod, Ledger& ledger);
// Appends to `out` only the key that make_shape would set.
void append_shape_key(const PodSpec& pod, std::string& out);

}  // namespace stowage::core
