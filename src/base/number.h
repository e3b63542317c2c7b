// Parses numbers.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace stowage::base {

// The whole text as a number, by std::from_chars() with these further arguments. Unset if the text
// contains anything else, or if the number does not fit.
template <typename Number, typename... Form>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text, Form... form) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, form...);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

}  // namespace stowage::base
