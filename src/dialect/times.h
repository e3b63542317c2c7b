// Moments as others write them, in nanoseconds. Whatever is not written so is unset.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/rfc3339.h"

namespace stowage::dialect {

using base::kNanosPerSecond;

// As base/rfc3339.h reads it, for the years 1700 to 2249: since 1970.
[[nodiscard]] std::optional<std::int64_t> parse_moment(std::string_view text);

// A decimal number of nanoseconds since 1970.
[[nodiscard]] std::optional<std::int64_t> parse_nanos(std::string_view text);

}  // namespace stowage::dialect
