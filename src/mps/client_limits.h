// How a container uses a share of a card through MPS: environment and mount. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mps/layout.h"

namespace stowage::mps {

struct Share {
  std::int32_t milli = 0;       // of the card's compute; 0: no limit
  std::int32_t memory_mib = 0;  // 0: no limit
  friend bool operator==(const Share&, const Share&) = default;
};

struct ClientSettings {
  std::vector<std::string> env;  // "NAME=value"
  std::string host_path;         // mounted read-only at container_path
  std::string container_path;
  friend bool operator==(const ClientSettings&, const ClientSettings&) = default;
};

// For the only card of a container. The daemon sees one card, so it is number 0 for its clients.
[[nodiscard]] ClientSettings client_settings(const CardFolder& folder, const Share& share);

}  // namespace stowage::mps
