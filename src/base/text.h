// Small text functions. Letters are ASCII letters, whatever the locale; all other bytes are
// unchanged.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace stowage::base {

inline constexpr std::string_view kBlanks = " \t\r\n";
inline constexpr std::string_view kSpaces = " \t\n\v\f\r";  // as std::isspace() in the C locale

// Removes these characters from both ends.
[[nodiscard]] constexpr std::string_view trim(std::string_view text,
                                              std::string_view blanks = kBlanks) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

[[nodiscard]] constexpr char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] inline std::string ascii_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = ascii_lower(c);
  return lower;
}

[[nodiscard]] constexpr bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return ascii_lower(x) == ascii_lower(y); });
}

// The texts joined by the separator. Leading empty texts are ignored.
[[nodiscard]] inline std::string join(const std::vector<std::string>& texts,
                                      std::string_view separator = ", ") {
  std::string all;
  for (const std::string& text : texts) {
    if (!all.empty()) all += separator;
    all += text;
  }
  return all;
}

// "namespace/name" in parts. Without a slash, the namespace is empty.
struct SplitName {
  std::string_view ns;
  std::string_view name;
};
[[nodiscard]] constexpr SplitName split_name(std::string_view full) {
  const std::size_t slash = full.find('/');
  if (slash == std::string_view::npos) return {.ns = {}, .name = full};
  return {.ns = full.substr(0, slash), .name = full.substr(slash + 1)};
}

}  // namespace stowage::base
