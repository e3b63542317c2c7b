// Wall-clock time, and the parsing of timestamps. Timers run on the clock of src/net. The wall
// clock stamps what we write, decides when a credential expires, and shows a leader that time has
// passed which its own clock did not count.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"

namespace stowage::kube {

using WallTime = std::chrono::sys_time<std::chrono::nanoseconds>;
using WallClock = std::function<WallTime()>;
using SteadyTime = std::chrono::steady_clock::time_point;

[[nodiscard]] WallClock system_wall_clock();

[[nodiscard]] std::int64_t unix_nanos(WallTime time);
[[nodiscard]] std::int64_t unix_micros(WallTime time);
[[nodiscard]] std::int64_t unix_seconds(WallTime time);
// As base/rfc3339.h reads it, for the years 1970 to 2200, with a T or a space in the middle.
[[nodiscard]] Result<WallTime> parse_rfc3339(std::string_view text);

}  // namespace stowage::kube
