// The ledger's hot rows: exactly the data that a judgement of one node reads. A node and its cards
// are contiguous and small, because a decision may walk over thousands of them.
#pragma once

#include <cstdint>
#include <limits>

namespace stowage::core {

// The load of a card without a measurement.
inline constexpr std::uint16_t kNoLoad = std::numeric_limits<std::uint16_t>::max();
inline constexpr std::int32_t kNoSlotLimit = std::numeric_limits<std::int32_t>::max();

// Free capacity of a card for a new pod: capacity minus charges, minus what pods with unknown cards
// may use. Never negative: over-commitment by others is debt and counts as zero here.
struct CardState {
  std::int32_t milli_free = 0;
  std::int32_t memory_free_mib = 0;
  std::int32_t slots_free = 0;
  std::uint16_t model = 0;
  std::uint16_t memory_class = 0;  // number of the memory size
  friend bool operator==(const CardState&, const CardState&) = default;
};
static_assert(sizeof(CardState) == 16);

struct NodeState {
  std::int64_t cpu_free_milli = 0;
  std::int64_t memory_free_bytes = 0;
  std::int64_t ephemeral_free_bytes = 0;
  std::uint64_t healthy = 0;  // one bit per card
  std::uint64_t whole = 0;    // healthy cards that no pod uses
  std::int32_t pods_free = 0;
  std::uint32_t first_card = 0;
  std::uint32_t offers = 0;  // one bit per way to allocate cards (Ledger::offer_bit)
  std::uint16_t node_class = 0;
  std::uint8_t cards = 0;
  bool present = false;         // false: the slot has no node, or the node is absent
  bool schedulable = false;     // present, and accepts new pods
  bool unnamed = false;         // pods hold cards here with unknown positions
  bool tainted = false;         // has NoSchedule or NoExecute taints
  bool plugin_missing = false;  // NodeSpec::plugin_missing
  friend bool operator==(const NodeState&, const NodeState&) = default;
};
static_assert(sizeof(NodeState) <= 64);

}  // namespace stowage::core
