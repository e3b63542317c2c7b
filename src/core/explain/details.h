// Text about the names in a refusal: existing models, unhealthy cards, nodes with the requested
// cards. The engine supplies the data; the wording is made here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/quota.h"
#include "core/model/reason.h"

namespace stowage::core {

// "asked 2 cards of A100, used 7 of 8"
[[nodiscard]] std::string describe(const QuotaExcess& excess);
// The rest of a quota that labels nodes by model. Empty if it has no such models.
[[nodiscard]] std::string describe(const QuotaBounds& bounds);

struct ModelCards {
  std::string model;
  std::int64_t cards = 0;
};
// No card in the cluster is of a model that was asked for:
// "asked for V100; there are 16 NVIDIA A100, 8 Tesla T4"
[[nodiscard]] std::string unknown_models(const std::vector<std::string>& asked,
                                         std::vector<ModelCards> known);

struct CardPlace {
  std::string id;
  std::string node;  // empty: on no node
};
// "no node has card GPU-1; card GPU-2 is on node n3"
[[nodiscard]] std::string named_cards(const std::vector<CardPlace>& cards);
// "GPU-1 on n1, GPU-2 on n1 and 3 more"; `all` is the total number.
[[nodiscard]] std::string unhealthy_cards(const std::vector<CardPlace>& shown, std::int64_t all);

inline constexpr std::size_t kNamesShown = 3;
inline constexpr std::size_t kModelsShown = 8;

}  // namespace stowage::core
