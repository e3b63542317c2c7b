// Addresses to listen on, as people write them.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace stowage::net {

// "127.0.0.1:10360" or "[::1]:10360" or ":10360" taken apart.
struct ListenAddress {
  std::string host;
  std::uint16_t port = 0;
};
[[nodiscard]] Result<ListenAddress> parse_listen(const std::string& text);

}  // namespace stowage::net
