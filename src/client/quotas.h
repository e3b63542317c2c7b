// The quotas that the ConfigMaps of a cluster hold.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/quota.h"

namespace stowage::client {

struct ConfigMap {
  std::string ns;
  std::string name;
  std::map<std::string, std::string> data;
};

[[nodiscard]] Result<ConfigMap> read_config_map(std::string_view json);

// Unset if none of the ConfigMaps speaks of quotas. What can not be read becomes a note.
[[nodiscard]] std::optional<core::Quotas> quotas_of(const std::vector<ConfigMap>& maps,
                                                    std::vector<std::string>& notes);

}  // namespace stowage::client
