// A pod's request boiled down to what a judgement needs. Pods with equal shapes are twins: they fit
// on the same nodes at the same cost, so everything learned about one holds for the other.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/ledger/ledger.h"
#include "core/model/pod.h"

namespace stowage::core {

// The ids of a filter, made ready to be asked about many cards: a filter may have hundreds, and is
// asked about every card of the cluster.
class CardIds {
 public:
  CardIds() = default;
  explicit CardIds(const CardFilter& filter);
  // False: every card is accepted.
  [[nodiscard]] bool constrain() const { return !any_.empty() || !none_.empty(); }
  // As accepts_id().
  [[nodiscard]] bool accept(const std::string& id) const;

 private:
  std::vector<std::string> any_;  // sorted, in lower case; blank ones are left out
  std::vector<std::string> none_;
};

// The cards one container asks for.
struct GpuPart {
  std::uint32_t container = 0;  // position in PodSpec::containers
  Phase phase = Phase::app;
  bool whole = false;
  bool whole_memory = false;      // a share of compute, but all of the memory
  bool memory_with_core = false;  // a share of compute, and as large a part of the memory
  Topology topology = Topology::none;
  std::int32_t count = 0;
  std::int32_t milli = 0;       // per card; 1000 if whole
  std::int32_t memory_mib = 0;  // per card; a whole card must have at least this much
  CardFilter filter;
  CardIds ids;                            // of the filter
  std::vector<std::uint8_t> model_ok;     // by model number; see Shape::learn_names
  std::vector<std::uint8_t> model_spent;  // accepted, but the quota is used up; empty: none is

  // As GpuAsk has it: an amount, kWholeMemory or kMemoryWithCore.
  [[nodiscard]] std::int32_t memory_asked() const {
    return whole_memory ? kWholeMemory : memory_with_core ? kMemoryWithCore : memory_mib;
  }
  // What it takes of the memory of a card that has so much.
  [[nodiscard]] std::int32_t memory_of(std::int32_t card_mib) const {
    if (whole || whole_memory) return card_mib;
    return memory_with_core ? core::memory_with_core(milli, card_mib) : memory_mib;
  }
  // The same of a card with what is free of it, for costs: sizes of cards beyond a great number of
  // them are a guess.
  [[nodiscard]] std::int32_t memory_of(const CardState& card, const Ledger& ledger) const {
    if (whole || whole_memory) return card.memory_free_mib;
    if (!memory_with_core) return memory_mib;
    return core::memory_with_core(milli, ledger.memory_sizes()[card.memory_class]);
  }
};

struct Shape {
  std::string key;  // equal keys, equal shapes
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t ephemeral_bytes = 0;
  std::vector<std::pair<std::uint32_t, std::int64_t>> extended;  // resource number, amount
  std::vector<std::string> extended_names;                       // of these, in the same order
  std::vector<GpuPart> parts;  // containers that ask for cards, in container order
  NodeRules rules;
  bool selective = false;   // has a node selector, required node affinity or bounds by quota
  bool cards_only = false;  // see PodSpec
  QuotaBounds bounds;
  Naming naming = Naming::always;  // other than that only if all cards are whole
  std::uint32_t needs = 0;         // bit of NodeState::offers; 0: any node will do

  // Derived, for policies: the pod at its largest.
  std::int32_t cards = 0;      // cards held at once, if every container gets its own
  std::int64_t gpu_milli = 0;  // compute held at once
  bool simple = false;         // at most one part, without card ids, topology or whole memory

  [[nodiscard]] bool share() const { return parts.size() == 1 && !parts[0].whole; }

  // Brings numbers of resources and model_ok up to date with the names that the ledger knows.
  // Cheap when nothing is new.
  void learn_names(const Ledger& ledger);

 private:
  std::uint64_t models_version_ = 0;
  std::uint64_t resources_version_ = 0;
};

// Requires: validate(pod).
[[nodiscard]] Shape make_shape(const PodSpec& pod, Ledger& ledger);
// The key alone: what make_shape would put there. Appends to `out`.
void append_shape_key(const PodSpec& pod, std::string& out);

}  // namespace stowage::core
