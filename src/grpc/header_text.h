// Values of gRPC's headers, as text and back.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "net/event_loop.h"

namespace stowage::grpc {

// A message of a status is written with "%E2" for each byte that is not visible ASCII, and is cut
// where it would become longer than this: a status must fit into the headers of any peer.
inline constexpr std::size_t kMessageMax = 1024;
[[nodiscard]] std::string encode_message(std::string_view message);
// At most kMessageMax bytes. What is no such sequence stays as it is: a message is never refused.
[[nodiscard]] std::string decode_message(std::string_view text);

// "10S", "250m": digits, eight at most, and a unit. Rounded up to the next value that can be
// written; what is zero or less becomes the shortest there is.
[[nodiscard]] std::string timeout_text(net::Duration timeout);
// Unset if the text is no timeout. One too long for a clock is the longest duration.
[[nodiscard]] std::optional<net::Duration> parse_timeout(std::string_view text);

// "application/grpc", alone or followed by a format ("+proto") or parameters (";...").
[[nodiscard]] bool is_grpc_type(std::string_view content_type);

// Text of a peer for a message of ours: its beginning, with '?' for what is not visible ASCII.
[[nodiscard]] std::string shown(std::string_view text);

}  // namespace stowage::grpc
