// Parses quotas from the data of two ConfigMaps; docs/quota.md describes both formats.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/quota.h"

namespace stowage::kube {

inline constexpr std::string_view kGpuQuotaKey = "gpu_quota";
inline constexpr std::string_view kStowageQuotaKey = "quota";
inline constexpr std::array<std::string_view, 4> kQuotaKeys{"model", "cards", "milli", "memoryMiB"};

// The format of gpu-admission: {"<namespace>":{"quota":{"M40":8},"pool":["public"]}}, in whole
// cards.
[[nodiscard]] Result<std::map<std::string, core::NodeModelQuota>> parse_gpu_quota(
    std::string_view text);

// Our own format: by namespace a list of {model, cards, milli, memoryMiB}, YAML or JSON.
[[nodiscard]] Result<std::map<std::string, std::vector<core::ModelLimit>>> parse_stowage_quota(
    std::string_view text);

}  // namespace stowage::kube
