// What the vgpu agent says about a node: its cards, how they are connected, and how its pods are
// served there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/table.h"

namespace stowage::dialect {

inline constexpr std::string_view kVgpuNumber = "nvidia.com/vgpu-number";

// What a pod needs of a node beyond a vgpu agent; a node offers each combination that it serves.
struct VgpuNeeds {
  std::int32_t memory_mib = 0;   // to one unit of memory; 0: it asks for no units
  std::string_view memory_type;  // "virtual", "physical", or empty: either
};
[[nodiscard]] std::string vgpu_needs(const VgpuNeeds& needs);

[[nodiscard]] std::optional<CardSource> vgpu_cards(const NodeObject& node, Notes& notes);
// MiB to one unit of memory on this node; 0 if it does not say.
[[nodiscard]] std::int32_t vgpu_memory_unit(const NodeObject& node);
void vgpu_offers(const NodeObject& node, std::vector<std::string>& names, Notes& notes);

}  // namespace stowage::dialect
