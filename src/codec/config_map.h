// A ConfigMap: its name and its data.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/json_in.h"

namespace stowage::codec {

struct ConfigMap {
  std::string ns;
  std::string name;
  std::string uid;
  std::map<std::string, std::string> data;
  friend bool operator==(const ConfigMap&, const ConfigMap&) = default;
};

[[nodiscard]] Result<ConfigMap> read_config_map(JsonText& parser, std::string_view json);

// A complete object to create, without the uid.
[[nodiscard]] std::string config_map(const ConfigMap& map);
// Merge patch of an existing one: sets these entries, keeps others. An empty text removes the key.
[[nodiscard]] std::string config_map_patch(const std::map<std::string, std::string>& data);

}  // namespace stowage::codec
