// Moments and durations as others write them, in nanoseconds. Whatever is not written so is unset.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stowage::dialect {

inline constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

// RFC 3339, "2024-05-01T12:00:00Z", with or without a fraction and an offset: since 1970.
[[nodiscard]] std::optional<std::int64_t> parse_moment(std::string_view text);

// "300s", "1h30m", "1.5s", "500ms"; not negative. More than ten years are ten years.
[[nodiscard]] std::optional<std::int64_t> parse_duration(std::string_view text);

// A decimal number of nanoseconds since 1970.
[[nodiscard]] std::optional<std::int64_t> parse_nanos(std::string_view text);

}  // namespace stowage::dialect
