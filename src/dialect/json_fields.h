// Checked access to fields of JSON objects in annotations. Errors name the field and the allowed
// values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dialect/json.h"

namespace stowage::dialect {

// An integer within the bounds, or `absent` if the field is missing.
struct Bounds {
  std::int32_t least = 0;
  std::int32_t most = 0;
  std::optional<std::int32_t> absent;
};
[[nodiscard]] Result<std::int32_t> bounded_field(const Json& json, std::string_view key,
                                                 const Bounds& bounds);

// Empty if the field is missing.
[[nodiscard]] Result<std::string> string_field(const Json& json, std::string_view key);

struct Flag {
  std::string_view key;
  bool absent = false;  // the value if the field is missing
};
[[nodiscard]] Result<bool> flag_field(const Json& json, const Flag& flag);

}  // namespace stowage::dialect
