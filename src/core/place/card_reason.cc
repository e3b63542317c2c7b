#include "core/place/card_reason.h"

#include <algorithm>
#include <bit>

#include "core/place/containers.h"

namespace stowage::core {
namespace {

bool strict(Topology wish) {
  return wish == Topology::numa_strict || wish == Topology::link_strict;
}

Reason why_share_does_not_fit(const Ledger& ledger, const GpuPart& part, const NodeView& node,
                              CardMask accepted) {
  // Specs are seldom in the CPU caches, so they are read only for shares that depend on the card.
  const bool sized = part.whole_memory || part.memory_with_core;
  const std::vector<Card>* specs = sized ? &ledger.nodes().spec(node.index).cards : nullptr;
  std::int32_t most_milli = 0;
  std::int32_t most_memory = 0;
  std::int32_t most_slots = 0;
  bool milli_ok = false;
  bool memory_ok = false;
  for (CardMask rest = accepted; rest != 0; rest &= rest - 1) {
    const auto at = static_cast<std::size_t>(std::countr_zero(rest));
    const CardState& card = node.cards[at];
    most_milli = std::max(most_milli, card.milli_free);
    if (card.milli_free < part.milli) continue;
    milli_ok = true;
    most_memory = std::max(most_memory, card.memory_free_mib);
    const std::int32_t wanted = sized ? part.memory_of((*specs)[at].memory_mib) : part.memory_mib;
    if (card.memory_free_mib < wanted) continue;
    memory_ok = true;
    most_slots = std::max(most_slots, card.slots_free);
  }
  // True if a request of this size would fit.
  const auto holds = [&](std::int32_t milli, std::int32_t memory_mib) {
    int cards = 0;
    for_each(accepted, [&](std::size_t c) {
      const CardState& card = node.cards[c];
      const bool room = card.milli_free >= milli && card.memory_free_mib >= memory_mib;
      cards += room && card.slots_free >= 1 ? 1 : 0;
    });
    return cards >= part.count && !strict(part.topology);
  };
  if (!milli_ok) {
    return {.code = ReasonCode::card_milli,
            .only = !part.whole_memory && holds(most_milli, part.memory_mib),
            .asked = part.milli,
            .found = most_milli};
  }
  if (!memory_ok) {
    return {.code = ReasonCode::card_memory,
            .only = holds(part.milli, most_memory),
            .asked = part.memory_asked(),
            .found = most_memory};
  }
  return {.code = ReasonCode::card_slots, .asked = 1, .found = 0};
}

}  // namespace

Reason why_part_does_not_fit(const JudgeContext& context, const GpuPart& part,
                             const NodeView& node) {
  const Ledger& ledger = *context.ledger;
  CardMask right = 0;
  for (std::size_t c = 0; c < node.state->cards; ++c) {
    right |= static_cast<CardMask>(part.model_ok[node.cards[c].model] != 0) << c;
  }
  if (right == 0) {
    for (std::size_t c = 0; c < node.state->cards && !part.model_spent.empty(); ++c) {
      if (part.model_spent[node.cards[c].model] != 0) return {.code = ReasonCode::quota};
    }
    return {.code = ReasonCode::model_mismatch};
  }
  if (part.ids.constrain()) {
    for_each(right, [&](std::size_t c) {
      if (!part.ids.accept(ledger.nodes().spec(node.index).cards[c].id)) {
        right &= ~(CardMask{1} << c);
      }
    });
    if (right == 0) return {.code = ReasonCode::id_mismatch};
  }
  const CardMask accepted = right & node.state->healthy;
  if (accepted == 0) return {.code = ReasonCode::unhealthy};
  CardMask fitting = accepted & fitting_cards(ledger, part, node);
  if (part.whole_memory) {
    for_each(fitting, [&](std::size_t c) {
      const auto size = ledger.nodes().spec(node.index).cards[c].memory_mib;
      if (node.cards[c].memory_free_mib < size) fitting &= ~(CardMask{1} << c);
    });
  }
  const int found = std::popcount(fitting);
  if (found >= part.count) return {};
  if (part.whole) {
    const std::vector<std::int32_t>& sizes = ledger.names().memory().sizes();
    std::int32_t largest = 0;
    for (CardMask rest = accepted; rest != 0; rest &= rest - 1) {
      largest = std::max(largest, sizes[node.cards[lowest(rest)].memory_class]);
    }
    if (largest < part.memory_mib) {
      int free = 0;
      for_each(accepted & node.state->whole,
               [&](std::size_t c) { free += node.cards[c].memory_free_mib >= largest ? 1 : 0; });
      return {.code = ReasonCode::card_memory,
              .only = free >= part.count && !strict(part.topology),
              .asked = part.memory_mib,
              .found = largest};
    }
  } else if (found == 0) {
    return why_share_does_not_fit(ledger, part, node, accepted);
  }
  return {.code = ReasonCode::cards, .only = true, .asked = part.count, .found = found};
}

}  // namespace stowage::core
