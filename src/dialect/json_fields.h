// Fields of JSON objects in annotations, checked: errors name the field and what may stand there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dialect/json.h"

namespace stowage::dialect {

// A whole number between the bounds, or `absent` if the field is not there.
struct Bounds {
  std::int32_t least = 0;
  std::int32_t most = 0;
  std::optional<std::int32_t> absent;
};
[[nodiscard]] Result<std::int32_t> bounded_field(const Json& json, std::string_view key,
                                                 const Bounds& bounds);

// Empty if the field is not there.
[[nodiscard]] Result<std::string> string_field(const Json& json, std::string_view key);

struct Flag {
  std::string_view key;
  bool absent = false;  // what it is if the field is not there
};
[[nodiscard]] Result<bool> flag_field(const Json& json, const Flag& flag);

}  // namespace stowage::dialect
