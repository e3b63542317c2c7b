#include "local/problems.h"

#include <algorithm>

#include <fmt/core.h>

namespace stowage::local {

void Problems::required(std::string field, std::string_view why) {
  std::string message = "Required value";
  if (!why.empty()) message += fmt::format(": {}", why);
  causes_.push_back({"FieldValueRequired", std::move(message), std::move(field)});
}

void Problems::invalid(std::string field, std::string_view value, std::string_view why) {
  causes_.push_back(
      {"FieldValueInvalid", fmt::format("Invalid value: {}: {}", value, why), std::move(field)});
}

void Problems::unsupported(std::string field, std::string_view value,
                           std::initializer_list<std::string_view> supported) {
  std::string list;
  for (const std::string_view one : supported) {
    if (!list.empty()) list += ", ";
    list += fmt::format("\"{}\"", one);
  }
  causes_.push_back({"FieldValueNotSupported",
                     fmt::format("Unsupported value: \"{}\": supported values: {}", value, list),
                     std::move(field)});
}

void Problems::forbidden(std::string field, std::string_view why) {
  causes_.push_back({"FieldValueForbidden", fmt::format("Forbidden: {}", why), std::move(field)});
}

void Problems::duplicate(std::string field, std::string_view value) {
  causes_.push_back(
      {"FieldValueDuplicate", fmt::format("Duplicate value: \"{}\"", value), std::move(field)});
}

void Problems::one_of(std::string field, std::string_view value,
                      std::initializer_list<std::string_view> supported) {
  if (value.empty()) return;
  if (std::find(supported.begin(), supported.end(), value) == supported.end()) {
    unsupported(std::move(field), value, supported);
  }
}

}  // namespace stowage::local
