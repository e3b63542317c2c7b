#include "kube/clock.h"

#include <cstdint>

#include <fmt/format.h>

#include "base/rfc3339.h"

namespace stowage::kube {
namespace {

using std::chrono::floor;
using std::chrono::microseconds;
using std::chrono::seconds;

}  // namespace

WallClock system_wall_clock() {
  return [] {
    return std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now());
  };
}

std::int64_t unix_nanos(WallTime time) { return time.time_since_epoch().count(); }

std::int64_t unix_micros(WallTime time) {
  return floor<microseconds>(time.time_since_epoch()).count();
}

std::int64_t unix_seconds(WallTime time) { return floor<seconds>(time.time_since_epoch()).count(); }

Result<WallTime> parse_rfc3339(std::string_view text) {
  // The range of years that 64 bits of nanoseconds hold.
  const auto time =
      base::parse_rfc3339(text, {.first_year = 1970, .last_year = 2200, .space_for_t = true});
  if (!time) {
    return fail(
        fmt::format("\"{}\" is not a time such as 2024-05-06T07:08:09Z", text.substr(0, 64)));
  }
  return WallTime{seconds{time->seconds}} + std::chrono::nanoseconds{time->nanos};
}

}  // namespace stowage::kube
