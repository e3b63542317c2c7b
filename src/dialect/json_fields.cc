#include "dialect/json_fields.h"

#include <fmt/format.h>

namespace stowage::dialect {

Result<std::int32_t> bounded_field(const Json& json, std::string_view key, const Bounds& bounds) {
  const Json* field = json.find(key);
  if (field == nullptr) {
    if (bounds.absent) return *bounds.absent;
    return fail(fmt::format("\"{}\" is missing", key));
  }
  const auto number = field->integer();
  if (!number || *number < bounds.least || *number > bounds.most) {
    return fail(
        fmt::format("\"{}\" is not a whole number from {} to {}", key, bounds.least, bounds.most));
  }
  return static_cast<std::int32_t>(*number);
}

Result<std::string> string_field(const Json& json, std::string_view key) {
  const Json* field = json.find(key);
  if (field == nullptr) return std::string();
  if (field->kind != Json::Kind::string) return fail(fmt::format("\"{}\" is not a string", key));
  return field->text;
}

Result<bool> flag_field(const Json& json, const Flag& flag) {
  const Json* field = json.find(flag.key);
  if (field == nullptr) return flag.absent;
  if (field->kind == Json::Kind::boolean) return field->truth;
  return fail(fmt::format("\"{}\" is not true or false", flag.key));
}

}  // namespace stowage::dialect
