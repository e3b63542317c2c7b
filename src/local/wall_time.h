// Wall-clock time as the API writes it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace stowage::local {

using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

[[nodiscard]] std::string time_text(WallTime time);        // "2006-01-02T15:04:05Z"
[[nodiscard]] std::string micro_time_text(WallTime time);  // "2006-01-02T15:04:05.000000Z"
// As base/rfc3339.h reads it, with any offset and cut to microseconds.
[[nodiscard]] std::optional<WallTime> parse_time(std::string_view text);
// "5s", "3m20s", "2d4h": two steps of precision, as kubectl prints ages.
[[nodiscard]] std::string age_text(std::chrono::microseconds age);

}  // namespace stowage::local
