// The cards of a pod as vgpu writes them: "main[0_GPU-a_10_2048,1_GPU-b_10_2048];side[]". Each card
// has its index, its id, percent of its compute and MiB of its memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stowage::dialect {

struct AnnotatedCard {
  std::int32_t index = 0;
  std::string id;
  std::int32_t percent = 0;  // 0: unlimited
  std::int32_t memory_mib = 0;
  friend bool operator==(const AnnotatedCard&, const AnnotatedCard&) = default;
};

struct Claim {
  std::string container;
  std::vector<AnnotatedCard> cards;
  friend bool operator==(const Claim&, const Claim&) = default;
};

[[nodiscard]] std::string claims_text(const std::vector<Claim>& claims);
// Each container may occur only once.
[[nodiscard]] Result<std::vector<Claim>> parse_claims(std::string_view text);

}  // namespace stowage::dialect
