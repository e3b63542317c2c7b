#include "core/policy/weights.h"

#include <algorithm>
#include <cmath>

namespace stowage::core {
namespace {

constexpr double kMillion = 1e6;

struct Fractions {
  double number = 0;
  double memory = 0;
  double compute = 0;
};

double part_of(std::int64_t free, std::int64_t all) {
  return all == 0 ? 0.0 : static_cast<double>(free) / static_cast<double>(all);
}

// Free fractions over all cards of the node. A card without a slot limit counts as fully free.
Fractions free_fractions(const JudgeContext& context, const NodeView& node,
                         const CardState* cards) {
  std::int64_t slots = 0;
  std::int64_t all_slots = 0;
  std::int64_t memory = 0;
  std::int64_t all_memory = 0;
  std::int64_t milli = 0;
  const auto& spec = context.ledger->nodes().spec(node.index);
  for (std::size_t i = 0; i < node.state->cards; ++i) {
    if (spec.cards[i].slots > 0) {
      slots += cards[i].slots_free;
      all_slots += spec.cards[i].slots;
    }
    memory += cards[i].memory_free_mib;
    all_memory += spec.cards[i].memory_mib;
    milli += cards[i].milli_free;
  }
  return {.number = part_of(slots, all_slots),
          .memory = part_of(memory, all_memory),
          .compute = part_of(milli, std::int64_t{node.state->cards} * kMilliPerCard)};
}

}  // namespace

ProfileWeights profile_weights(const Shape& shape) {
  double number = 0;
  double memory_mib = 0;
  double memory_default = 0;
  double compute = 0;
  for (const auto& part : shape.parts) {
    const double count = part.count;
    number += count;
    compute += count * part.milli / kMilliPerCard;
    // The whole memory of a card counts as one; a share counts in GiB, but at least one per card.
    if (part.memory_mib > 0 && !part.whole) {
      memory_mib += std::max(count, std::ceil(count * part.memory_mib / 1024.0));
    } else {
      memory_default += count;
    }
  }
  if (number == 0) return {.number = 1.0 / 3, .memory = 1.0 / 3, .compute = 1.0 / 3};
  const double memory = memory_mib + memory_default;
  const double sum = number + memory + compute;
  return {.number = number / sum, .memory = memory / sum, .compute = compute / sum};
}

std::int64_t weighted_binpack(const Trial& t) {
  const ProfileWeights w = profile_weights(*t.shape);
  const Fractions free = free_fractions(*t.context, t.node, t.after);
  const double used =
      w.number * (1 - free.number) + w.memory * (1 - free.memory) + w.compute * (1 - free.compute);
  return static_cast<std::int64_t>(used * kMillion);
}

std::int64_t weighted_spread(const Trial& t) {
  const ProfileWeights w = profile_weights(*t.shape);
  const Fractions free = free_fractions(*t.context, t.node, t.node.cards);
  return static_cast<std::int64_t>(
      (w.number * free.number + w.memory * free.memory + w.compute * free.compute) * kMillion);
}

std::int64_t weighted_card(const CardTrial& t, std::size_t card) {
  const Card& spec = t.context->ledger->nodes().spec(t.node.index).cards[card];
  const CardState& c = t.cards[card];
  const double slots = spec.slots == 0 ? 1.0 : part_of(c.slots_free, spec.slots);
  const double mean =
      (slots + part_of(c.memory_free_mib, spec.memory_mib) + part_of(c.milli_free, kMilliPerCard)) /
      3;
  return static_cast<std::int64_t>(mean * kMillion);
}

}  // namespace stowage::core
