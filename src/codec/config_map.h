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

}  // namespace stowage::codec
