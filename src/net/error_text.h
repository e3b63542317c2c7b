// Errors of the system and durations as text for messages. For src/net only.
#pragma once

#include <string>

#include "net/event_loop.h"

namespace stowage::net {

// "Connection refused" as "connection refused".
[[nodiscard]] std::string lower_first(std::string text);

template <typename ErrorCode>
[[nodiscard]] std::string error_text(const ErrorCode& error) {
  return lower_first(error.message());
}

// "5 s", "0.25 s".
[[nodiscard]] std::string duration_text(Duration duration);

}  // namespace stowage::net
