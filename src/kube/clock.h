// Where time comes from, and times that others wrote. Timers run on the clock of src/net; the wall
// clock stamps what we write, judges when a credential expires, and tells a leader that time has
// passed which its own clock has not counted.
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
