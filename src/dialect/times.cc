#include "dialect/times.h"

#include <charconv>

#include "base/rfc3339.h"

namespace stowage::dialect {

std::optional<std::int64_t> parse_moment(std::string_view text) {
  // The years that 64-bit nanoseconds can represent.
  const auto time = base::parse_rfc3339(text, {.first_year = 1700, .last_year = 2249});
  if (!time) return std::nullopt;
  return time->seconds * kNanosPerSecond + time->nanos;
}

std::optional<std::int64_t> parse_nanos(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  return number;
}

}  // namespace stowage::dialect
