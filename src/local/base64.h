// Base 64 as JSON carries bytes: the standard alphabet, padded.
#pragma once

#include <string>
#include <string_view>

namespace stowage::local {

[[nodiscard]] bool is_base64(std::string_view text);
[[nodiscard]] std::string to_base64(std::string_view bytes);
// Requires: is_base64(text).
[[nodiscard]] std::string from_base64(std::string_view text);
// How many bytes the text stands for. Requires: is_base64(text).
[[nodiscard]] std::size_t base64_size(std::string_view text);

}  // namespace stowage::local
