// Base64 as in RFC 4648, with padding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stowage::base {

[[nodiscard]] std::string base64_encode(std::string_view bytes);

// skip: spaces, tabs and line breaks are ignored; kubeconfig files wrap long values.
// refuse: they are invalid characters, as in a field of the API.
enum class Base64Blanks : std::uint8_t { skip, refuse };
// Unset if the text has an invalid character or is truncated.
[[nodiscard]] std::optional<std::string> base64_decode(std::string_view text,
                                                       Base64Blanks blanks = Base64Blanks::skip);

}  // namespace stowage::base
