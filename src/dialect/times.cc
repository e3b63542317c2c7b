#include "dialect/times.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/rfc3339.h"

namespace stowage::dialect {
namespace {

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

// The digits after a point as nanoseconds; those beyond nine are dropped. Unset if there are none.
std::optional<std::int64_t> take_fraction(std::string_view& text, std::int64_t unit) {
  std::int64_t nanos = 0;
  bool any = false;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    any = true;
    unit /= 10;
    nanos += (text.front() - '0') * unit;
    text.remove_prefix(1);
  }
  return any ? std::optional(nanos) : std::nullopt;
}

constexpr std::int64_t kLongest = std::int64_t{10} * 365 * 24 * 3600 * kNanosPerSecond;

std::optional<std::int64_t> take_unit(std::string_view& text) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 8> kUnits{
      {{"ns", 1},
       {"us", 1'000},
       {"\xC2\xB5s", 1'000},
       {"\xCE\xBCs", 1'000},
       {"ms", 1'000'000},
       {"s", kNanosPerSecond},
       {"m", 60 * kNanosPerSecond},
       {"h", 3600 * kNanosPerSecond}}};
  for (const auto& [name, nanos] : kUnits) {
    if (!text.starts_with(name)) continue;
    text.remove_prefix(name.size());
    return nanos;
  }
  return std::nullopt;
}

// "1.5s" off the front.
std::optional<std::int64_t> take_duration(std::string_view& text) {
  const std::string_view number = text.substr(0, text.find_first_not_of("0123456789"));
  text.remove_prefix(number.size());
  std::string_view fraction;
  if (take(text, '.')) {
    fraction = text.substr(0, text.find_first_not_of("0123456789"));
    text.remove_prefix(fraction.size());
  }
  if (number.empty() && fraction.empty()) return std::nullopt;
  const auto unit = take_unit(text);
  if (!unit) return std::nullopt;
  std::int64_t whole = 0;
  for (const char c : number) whole = std::min(whole * 10 + (c - '0'), kLongest);
  const std::int64_t nanos = whole > kLongest / *unit ? kLongest : whole * *unit;
  return nanos + take_fraction(fraction, *unit).value_or(0);
}

}  // namespace

std::optional<std::int64_t> parse_moment(std::string_view text) {
  // Years that nanoseconds of 64 bits can count.
  const auto time = base::parse_rfc3339(text, {.first_year = 1700, .last_year = 2249});
  if (!time) return std::nullopt;
  return time->seconds * kNanosPerSecond + time->nanos;
}

std::optional<std::int64_t> parse_duration(std::string_view text) {
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  std::int64_t nanos = 0;
  while (!text.empty()) {
    const auto part = take_duration(text);
    if (!part) return std::nullopt;
    nanos = std::min(nanos + *part, kLongest);
  }
  return nanos;
}

std::optional<std::int64_t> parse_nanos(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  return number;
}

}  // namespace stowage::dialect
