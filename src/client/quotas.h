// The quotas that the ConfigMaps of a cluster hold, in the forms that the controller reads.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "codec/config_map.h"
#include "core/model/quota.h"
#include "scheduler/quota_source.h"

namespace stowage::client {

// Unset if none of the ConfigMaps speaks of quotas. There is no older one that could stay in force,
// so a text that can not be read is an error.
[[nodiscard]] Result<std::optional<core::Quotas>> quotas_of(
    const std::vector<codec::ConfigMap>& maps, const scheduler::QuotaOptions& options);

}  // namespace stowage::client
