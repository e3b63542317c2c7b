#include "base/base64.h"

#include <algorithm>
#include <cstdint>

namespace stowage::base {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool is_blank(char c) { return c == '\n' || c == '\r' || c == ' ' || c == '\t'; }

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8U | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= count ? kAlphabet[(group >> (18U - 6U * k)) & 63U] : '=';
    }
  }
  return text;
}

std::optional<std::string> base64_decode(std::string_view text, Base64Blanks blanks) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  std::size_t letters = 0;  // characters without padding
  std::size_t padding = 0;
  for (const char c : text) {
    if (blanks == Base64Blanks::skip && is_blank(c)) continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const std::size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos || padding > 0) return std::nullopt;
    group = group << 6U | static_cast<std::uint32_t>(value);
    if (++letters % 4 != 0) continue;
    for (const unsigned shift : {16U, 8U, 0U}) bytes += static_cast<char>(group >> shift & 255U);
    group = 0;
  }
  if (padding > 2 || (letters + padding) % 4 != 0) return std::nullopt;
  if (letters % 4 == 2) bytes += static_cast<char>(group >> 4U & 255U);
  if (letters % 4 == 3) {
    bytes += static_cast<char>(group >> 10U & 255U);
    bytes += static_cast<char>(group >> 2U & 255U);
  }
  return bytes;
}

}  // namespace stowage::base
