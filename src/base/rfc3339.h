// Times in RFC 3339 format, "2006-01-02T15:04:05Z": Time of the Kubernetes API, and with six
// decimals MicroTime. Pure: no clock is read.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stowage::base {

inline constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
// The first second of the years 1 and 10000; a Time is between them.
inline constexpr std::int64_t kFirstTimeSecond = -62'135'596'800;
inline constexpr std::int64_t kEndTimeSecond = 253'402'300'800;

// "2006-01-02T15:04:05Z". A year with more than four digits is written in full.
[[nodiscard]] std::string format_rfc3339(std::int64_t unix_seconds);
// "2006-01-02T15:04:05.000000Z".
[[nodiscard]] std::string format_rfc3339_micros(std::int64_t unix_micros);
// The same as format_rfc3339(), without allocation. Requires: a year from 0 to 9999.
[[nodiscard]] std::array<char, 20> rfc3339_chars(std::int64_t unix_seconds);

// What the parser accepts beyond RFC 3339. T and Z may be in lower case, and any number of decimals
// is accepted; the first nine count.
struct Rfc3339Rules {
  int first_year = 0;
  int last_year = 9999;
  bool space_for_t = false;  // "2006-01-02 15:04:05Z" too
  bool any_offset = false;   // offsets beyond 23:59 too
};
struct UnixTime {
  std::int64_t seconds = 0;
  std::int32_t nanos = 0;  // of the second, not negative
  friend bool operator==(UnixTime, UnixTime) = default;
};
// Since 1970. Second 60 is the first second of the next minute. Unset if the text is not valid.
[[nodiscard]] std::optional<UnixTime> parse_rfc3339(std::string_view text,
                                                    const Rfc3339Rules& rules);

}  // namespace stowage::base
