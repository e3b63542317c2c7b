#include "local/base64.h"

#include <cstdint>

namespace stowage::local {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::size_t padding(std::string_view text) {
  if (text.ends_with("==")) return 2;
  return text.ends_with('=') ? 1 : 0;
}

}  // namespace

bool is_base64(std::string_view text) {
  if (text.size() % 4 != 0) return false;
  text.remove_suffix(padding(text));
  return text.find_first_not_of(kAlphabet) == std::string_view::npos;
}

std::size_t base64_size(std::string_view text) { return text.size() / 4 * 3 - padding(text); }

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = (group << 8U) | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += k <= n ? kAlphabet[(group >> (18U - 6U * static_cast<unsigned>(k))) & 63U] : '=';
    }
  }
  return out;
}

std::string from_base64(std::string_view text) {
  std::string out;
  const std::size_t size = base64_size(text);
  out.reserve(size + 2);
  for (std::size_t i = 0; i + 4 <= text.size(); i += 4) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const std::size_t digit = text[i + k] == '=' ? 0 : kAlphabet.find(text[i + k]);
      group = (group << 6U) | static_cast<std::uint32_t>(digit);
    }
    for (const unsigned shift : {16U, 8U, 0U}) out += static_cast<char>((group >> shift) & 0xffU);
  }
  out.resize(size);
  return out;
}

}  // namespace stowage::local
