#include "grpc/header_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "base/number.h"

namespace stowage::grpc {
namespace {

constexpr std::size_t kShownMax = 100;
constexpr std::size_t kDigitsMax = 8;
constexpr std::int64_t kTimeoutMax = 99'999'999;

struct Unit {
  char letter;
  std::int64_t ns;
};
// Finest unit first: the first one that can hold a timeout is the most exact.
constexpr std::array<Unit, 6> kUnits = {{{'n', 1},
                                         {'u', 1'000},
                                         {'m', 1'000'000},
                                         {'S', 1'000'000'000},
                                         {'M', 60'000'000'000},
                                         {'H', 3'600'000'000'000}}};

constexpr bool is_visible(char c) { return c >= ' ' && c <= '~'; }

// The value of a hexadecimal digit; -1 for other characters.
constexpr int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string encode_message(std::string_view message) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  for (const char c : message) {
    if (is_visible(c) && c != '%') {
      if (text.size() + 1 > kMessageMax) break;
      text += c;
    } else {
      if (text.size() + 3 > kMessageMax) break;
      const auto byte = static_cast<unsigned char>(c);
      text += '%';
      text += kDigits[byte >> 4U];
      text += kDigits[byte & 0xfU];
    }
  }
  return text;
}

std::string decode_message(std::string_view text) {
  std::string message;
  while (!text.empty() && message.size() < kMessageMax) {
    const int high = text.size() >= 3 && text[0] == '%' ? digit_of(text[1]) : -1;
    const int low = high >= 0 ? digit_of(text[2]) : -1;
    message += low >= 0 ? static_cast<char>(high * 16 + low) : text[0];
    text.remove_prefix(low >= 0 ? 3 : 1);
  }
  return message;
}

std::string timeout_text(net::Duration timeout) {
  const std::int64_t ns = std::max<std::int64_t>(timeout.count(), 1);
  for (const Unit& unit : kUnits) {
    const std::int64_t value = ns / unit.ns + (ns % unit.ns != 0 ? 1 : 0);
    if (value <= kTimeoutMax) return fmt::format("{}{}", value, unit.letter);
  }
  return fmt::format("{}H", kTimeoutMax);  // longer than a duration can be
}

std::optional<net::Duration> parse_timeout(std::string_view text) {
  if (text.size() < 2 || text.size() > kDigitsMax + 1) return std::nullopt;
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(),
                                 [&](const Unit& each) { return each.letter == text.back(); });
  if (unit == kUnits.end()) return std::nullopt;
  const auto value = base::parse_number<std::uint64_t>(text.substr(0, text.size() - 1));
  if (!value) return std::nullopt;
  const auto most = static_cast<std::uint64_t>(net::Duration::max().count() / unit->ns);
  if (*value > most) return net::Duration::max();
  return net::Duration{static_cast<std::int64_t>(*value) * unit->ns};
}

bool is_grpc_type(std::string_view content_type) {
  constexpr std::string_view kType = "application/grpc";
  if (!content_type.starts_with(kType)) return false;
  const std::string_view rest = content_type.substr(kType.size());
  return rest.empty() || rest.front() == '+' || rest.front() == ';';
}

std::string shown(std::string_view text) {
  std::string out(text.substr(0, kShownMax));
  for (char& c : out) {
    if (!is_visible(c)) c = '?';
  }
  if (text.size() > kShownMax) out += "...";
  return out;
}

}  // namespace stowage::grpc
