#include "dialect/times.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <utility>

namespace stowage::dialect {
namespace {

// Takes exactly `digits` digits off the front.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int number = 0;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return number;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

// Numbers of two digits between separators, e.g. "12:00:00"; the first has `digits`.
template <std::size_t N>
std::optional<std::array<int, N>> take_fields(std::string_view& text, char separator,
                                              std::size_t digits) {
  std::array<int, N> fields{};
  for (std::size_t i = 0; i < N; ++i) {
    if (i > 0 && !take(text, separator)) return std::nullopt;
    const auto number = take_number(text, i == 0 ? digits : 2);
    if (!number) return std::nullopt;
    fields[i] = *number;
  }
  return fields;
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

// "Z", "+02:00" or "-07:30": seconds east of Greenwich.
std::optional<int> take_offset(std::string_view& text) {
  if (take(text, 'Z') || take(text, 'z')) return 0;
  const bool east = take(text, '+');
  if (!east && !take(text, '-')) return std::nullopt;
  const auto clock = take_fields<2>(text, ':', 2);
  if (!clock || (*clock)[0] > 23 || (*clock)[1] > 59) return std::nullopt;
  const int seconds = (*clock)[0] * 3600 + (*clock)[1] * 60;
  return east ? seconds : -seconds;
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
  const auto date = take_fields<3>(text, '-', 4);
  if (!date || (!take(text, 'T') && !take(text, 't'))) return std::nullopt;
  const auto clock = take_fields<3>(text, ':', 2);
  if (!clock) return std::nullopt;
  std::int64_t fraction = 0;
  if (take(text, '.')) {
    const auto nanos = take_fraction(text, kNanosPerSecond);
    if (!nanos) return std::nullopt;
    fraction = *nanos;
  }
  const auto offset = take_offset(text);
  if (!offset || !text.empty()) return std::nullopt;
  const auto [hours, minutes, seconds] = *clock;
  const std::chrono::year_month_day day{std::chrono::year((*date)[0]),
                                        std::chrono::month(static_cast<unsigned>((*date)[1])),
                                        std::chrono::day(static_cast<unsigned>((*date)[2]))};
  // Years that nanoseconds of 64 bits can count.
  const bool countable = (*date)[0] >= 1700 && (*date)[0] < 2250;
  if (!day.ok() || !countable || hours > 23 || minutes > 59 || seconds > 60) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(day).time_since_epoch().count();
  const int of_day = hours * 3600 + minutes * 60 + seconds - *offset;
  const std::int64_t since = days * 86400 + of_day;
  return since * kNanosPerSecond + fraction;
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
