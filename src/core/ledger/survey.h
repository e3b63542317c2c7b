// How much of the cards is given out, what still fits, and what nobody can have: for people who
// look at the whole. Amounts of compute are thousandths of a card.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stowage::core {

// Sizes of pods for which it is counted how many more would fit: parts of a card, or whole cards of
// one node.
inline constexpr std::array<std::int32_t, 6> kSurveySizes{250, 500, 1000, 2000, 4000, 8000};

struct ModelSurvey {
  std::string model;  // as reported; empty: nobody says
  std::int64_t cards = 0;
  // Each card is one of these.
  std::int64_t free = 0;  // nobody has any of it
  std::int64_t partly = 0;
  std::int64_t full = 0;  // also those that pods have whole, and nobody has said which
  std::int64_t sick = 0;

  std::int64_t given_milli = 0;  // also of sick ones; what others over-commit counts once
  std::int64_t memory_mib = 0;
  std::int64_t given_memory_mib = 0;
  // Free parts of healthy cards that no pod can have: the node takes none, or has no CPU, memory or
  // place for a pod left, or the card has no memory or no place left.
  std::int64_t stranded_milli = 0;
  // Given out, measured, and doing nothing.
  std::int64_t idle = 0;
  std::int64_t measured = 0;
  // How many more pods of each size the cards of each node would hold, taken by themselves.
  std::array<std::int64_t, kSurveySizes.size()> fits{};
  friend bool operator==(const ModelSurvey&, const ModelSurvey&) = default;
};

struct Survey {
  std::vector<ModelSurvey> models;  // by name
  friend bool operator==(const Survey&, const Survey&) = default;
};

}  // namespace stowage::core
