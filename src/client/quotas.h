// Reads the quotas from the ConfigMaps of a cluster, in the formats of the controller.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "codec/config_map.h"
#include "core/model/quota.h"
#include "scheduler/quota_source.h"

namespace stowage::client {

// Unset if none of the ConfigMaps contains quotas. A text that cannot be read is an error, because
// there is no earlier one that could stay in effect.
[[nodiscard]] Result<std::optional<core::Quotas>> quotas_of(
    const std::vector<codec::ConfigMap>& maps, const scheduler::QuotaOptions& options);

}  // namespace stowage::client
