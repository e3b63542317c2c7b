// The ledger's record of a node: its spec, the pods on it and the sums of their charges. The rows
// that decisions read (state.h) are computed from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/ledger/names.h"
#include "core/ledger/pod_record.h"
#include "core/ledger/state.h"
#include "core/model/ids.h"
#include "core/model/node.h"

namespace stowage::core {

struct CardUse {
  std::int64_t milli = 0;
  std::int64_t memory_mib = 0;
  std::int64_t slots = 0;
  friend bool operator==(const CardUse&, const CardUse&) = default;
};

struct NodeUse {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t ephemeral_bytes = 0;
  std::int64_t pods = 0;
  std::vector<std::int64_t> extended;  // by resource number; missing means 0
  // Sums of PodRecord::unnamed.
  CardUse unknown;  // on any one card
  std::int64_t unknown_with_core = 0;
  std::int64_t unknown_shared = 0;
  std::int64_t unknown_whole = 0;
  std::int64_t nominations_by_name = 0;
  friend bool operator==(const NodeUse&, const NodeUse&) = default;
};

struct CardLimit {  // of NodeSpec::cards, packed, because every change of a node reads them
  std::int32_t memory_mib = 0;
  std::int32_t slots = 0;
  bool healthy = false;
};

// idle: healthy cards that no pod has by name. unnamed: number of cards that pods hold wholly or
// partly with unknown positions. Up to `unnamed` of the idle cards may be in use.
struct ByNumber {
  std::uint64_t idle = 0;  // one bit per card
  std::int64_t unnamed = 0;
  bool closed = false;  // a nomination on this node needs its cards by name
};

struct NodeRecord {
  NodeSpec spec;
  bool present = false;
  NodeUse use;
  std::vector<CardUse> card_use;
  std::vector<CardLimit> card_limits;
  std::size_t card_capacity = 0;  // card rows that belong to the node's slot
  std::vector<PodIndex> pods;
  std::vector<Card> last_cards;  // the last known cards while the node reports none
  Labels last_labels;            // the last known labels while the node is absent
  std::vector<std::int64_t> extended_capacity;
  // Load of the cards by position, in thousandths; kNoLoad, or a position beyond the end: unknown.
  std::vector<std::uint16_t> busy;

  // The node's cards; the last known ones while it reports none or is absent.
  [[nodiscard]] const std::vector<Card>& cards_last_seen() const {
    return spec.cards.empty() ? last_cards : spec.cards;
  }
  // The node's labels; the last known ones while it is absent.
  [[nodiscard]] const Labels& labels_last_seen() const {
    return present ? spec.labels : last_labels;
  }
  // The free amount of the resource with this number (ResourceNames).
  [[nodiscard]] std::int64_t extended_free(std::uint32_t resource) const;
  [[nodiscard]] ByNumber by_number() const;
  // True if pods hold more whole cards than look free, so some are on cards that others use in
  // part.
  [[nodiscard]] bool overdrawn() const;
};

// Add a pod's charges to the sums of its node; with sign -1, subtract them. In order: all charges
// except those by resource number; only those of unnamed cards; only those by resource number.
void add_charges(const PodRecord& pod, std::int64_t sign, NodeUse& use,
                 std::vector<CardUse>& cards);
void add_unnamed(const UnnamedUse& unnamed, std::int64_t sign, NodeUse& use);
void add_extended(const PodRecord& pod, std::int64_t sign, const ResourceNames& names,
                  NodeUse& use);

// The row of a card, without the numbers of its model and memory size.
[[nodiscard]] CardState card_row(const NodeRecord& node, std::size_t card, bool overdrawn);
// Writes all values that depend on the sums into the rows of the node and its cards.
void update_rows(const NodeRecord& node, NodeState& row, CardState* cards);

}  // namespace stowage::core
