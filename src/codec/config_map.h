// A ConfigMap: its name and its texts.
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

// A whole one, to be created: without the uid.
[[nodiscard]] std::string config_map(const ConfigMap& map);
// Merge patch of one that is there: these texts are set, others stay. An empty text removes the
// key.
[[nodiscard]] std::string config_map_patch(const std::map<std::string, std::string>& data);

}  // namespace stowage::codec
