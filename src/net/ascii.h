// Characters and case as HTTP defines them: ASCII, in any locale.
#pragma once

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace stowage::net {

[[nodiscard]] constexpr bool is_ascii_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

using base::equals_ignoring_case;

// A character of a method or of a header name (RFC 9110, token).
[[nodiscard]] constexpr bool is_token_char(char c) {
  return is_ascii_alnum(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

[[nodiscard]] constexpr bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

}  // namespace stowage::net
