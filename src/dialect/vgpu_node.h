// A node as the vgpu agent describes it: its cards, how they are connected, and which pods it
// serves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/table.h"

namespace stowage::dialect {

inline constexpr std::string_view kVgpuNumber = "nvidia.com/vgpu-number";

// A pod's requirements on a node besides a vgpu agent. A node offers each combination that it
// serves.
struct VgpuNeeds {
  std::int32_t memory_mib = 0;   // per unit of memory; 0: no memory request in units
  std::string_view memory_type;  // "virtual", "physical", or empty: any
};
[[nodiscard]] std::string vgpu_needs(const VgpuNeeds& needs);

[[nodiscard]] std::optional<CardSource> vgpu_cards(const NodeObject& node, Notes& notes);
// MiB per unit of memory on this node; 0 if unknown.
[[nodiscard]] std::int32_t vgpu_memory_unit(const NodeObject& node);
void vgpu_offers(const NodeObject& node, std::vector<std::string>& names, Notes& notes);

}  // namespace stowage::dialect
