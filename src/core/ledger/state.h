// The ledger's hot rows: what a judgement of one node reads, and nothing else. A node and its cards
// are contiguous and small, because a decision may walk over thousands of them.
#pragma once

#include <cstdint>
#include <limits>

namespace stowage::core {

// How busy a card is, where nobody has said.
inline constexpr std::uint16_t kNoLoad = std::numeric_limits<std::uint16_t>::max();
inline constexpr std::int32_t kNoSlotLimit = std::numeric_limits<std::int32_t>::max();

// What is left of a card for a new pod: capacity less what is charged, less what pods with unknown
// cards may be using. Never negative: over-commitment by others is debt, and shows as zero here.
struct CardState {
  std::int32_t milli_free = 0;
  std::int32_t memory_free_mib = 0;
  std::int32_t slots_free = 0;
  std::uint16_t model = 0;
  std::uint16_t memory_class = 0;  // cards of equal memory size
  friend bool operator==(const CardState&, const CardState&) = default;
};
static_assert(sizeof(CardState) == 16);

struct NodeState {
  std::int64_t cpu_free_milli = 0;
  std::int64_t memory_free_bytes = 0;
  std::int64_t ephemeral_free_bytes = 0;
  std::uint64_t healthy = 0;  // one bit per card
  std::uint64_t whole = 0;    // healthy cards that nobody uses
  std::int32_t pods_free = 0;
  std::uint32_t first_card = 0;
  std::uint32_t offers = 0;  // one bit per way to hand out cards (Ledger::offer_bit)
  std::uint16_t node_class = 0;
  std::uint8_t cards = 0;
  bool present = false;      // false: the slot holds no node, or one that is gone
  bool schedulable = false;  // present, and takes new pods
  bool unnamed = false;      // pods hold cards here that nobody has named
  bool tainted = false;      // has taints that keep pods off unless they tolerate them
  friend bool operator==(const NodeState&, const NodeState&) = default;
};
static_assert(sizeof(NodeState) <= 64);

}  // namespace stowage::core
