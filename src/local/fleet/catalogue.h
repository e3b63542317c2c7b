// The card models of simulated nodes: short names, and what drivers report.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stowage::local {

struct CardModel {
  std::string name;             // "A100-80GB"
  std::string product;          // "NVIDIA A100-SXM4-80GB", as the driver reports it
  std::int32_t memory_mib = 0;  // likewise
  friend bool operator==(const CardModel&, const CardModel&) = default;
};

[[nodiscard]] const std::vector<CardModel>& card_models();

// A name of the catalogue, in any case, or "name:MiB" for another card. The error names the closest
// model and all models.
[[nodiscard]] Result<CardModel> find_card_model(std::string_view text);

}  // namespace stowage::local
