// Statistics for operators: how much of the cards is allocated, what still fits, and what cannot be
// used. Compute is measured in thousandths of a card.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stowage::core {

// Pod sizes for which the number of further pods is computed: parts of a card, or whole cards of
// one node.
inline constexpr std::array<std::int32_t, 6> kSurveySizes{250, 500, 1000, 2000, 4000, 8000};

struct ModelSurvey {
  std::string model;  // as reported; empty: unknown
  std::int64_t cards = 0;
  // Each card is counted in exactly one of these.
  std::int64_t free = 0;  // no pod uses it
  std::int64_t partly = 0;
  std::int64_t full = 0;  // includes whole cards of pods with unknown cards
  std::int64_t unhealthy = 0;

  std::int64_t given_milli =
      0;  // includes unhealthy cards; over-commitment by others counts at most the card's capacity
  std::int64_t memory_mib = 0;
  std::int64_t given_memory_mib = 0;
  // Free parts of healthy cards that no pod can use: the node accepts no pods, or lacks CPU, memory
  // or a free pod slot, or the card has no free memory or slot.
  std::int64_t stranded_milli = 0;
  // Allocated, measured, and idle.
  std::int64_t idle = 0;
  std::int64_t measured = 0;
  // How many more pods of each size the cards of each node could hold, each size on its own.
  std::array<std::int64_t, kSurveySizes.size()> fits{};
  friend bool operator==(const ModelSurvey&, const ModelSurvey&) = default;
};

struct Survey {
  std::vector<ModelSurvey> models;  // by name
  friend bool operator==(const Survey&, const Survey&) = default;
};

class Ledger;
// Walks over all cards; call it rarely.
[[nodiscard]] Survey take_survey(const Ledger& ledger);

}  // namespace stowage::core
