// Values of gRPC's headers, as text and back.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "net/event_loop.h"

namespace stowage::grpc {

// The message of a status is escaped ("%E2" for each byte that is not visible ASCII) and cut at
// this length: a status must fit into the headers of any peer.
inline constexpr std::size_t kMessageMax = 1024;
[[nodiscard]] std::string encode_message(std::string_view message);
// At most kMessageMax bytes. An invalid escape stays as it is: a message is never refused.
[[nodiscard]] std::string decode_message(std::string_view text);

// "10S", "250m": at most eight digits, and a unit. Rounded up to the next representable value; zero
// or less becomes the shortest timeout.
[[nodiscard]] std::string timeout_text(net::Duration timeout);
// Unset if the text is not a timeout. One that is too long becomes the longest duration.
[[nodiscard]] std::optional<net::Duration> parse_timeout(std::string_view text);

// "application/grpc", alone or followed by a format ("+proto") or parameters (";...").
[[nodiscard]] bool is_grpc_type(std::string_view content_type);

// Text of a peer for our messages: its beginning, with '?' for everything that is not visible
// ASCII.
[[nodiscard]] std::string shown(std::string_view text);

}  // namespace stowage::grpc
