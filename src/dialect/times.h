// Parses times from annotations and objects, in nanoseconds. Unset if the text is invalid.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/rfc3339.h"

namespace stowage::dialect {

using base::kNanosPerSecond;

// Nanoseconds since 1970, in the format of base/rfc3339.h, for the years 1700 to 2249.
[[nodiscard]] std::optional<std::int64_t> parse_moment(std::string_view text);

// A decimal number of nanoseconds since 1970.
[[nodiscard]] std::optional<std::int64_t> parse_nanos(std::string_view text);

}  // namespace stowage::dialect
