// JSON trees of the local cluster's objects: parses untrusted text, finds and creates members.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "base/result.h"

namespace stowage::local {

namespace json = boost::json;

constexpr std::size_t kJsonDepthMax = 64;

// Parses untrusted text. Errors say what is wrong and at which byte.
[[nodiscard]] Result<json::value> parse_json(std::string_view text, json::storage_ptr memory = {});

void append_json(std::string& out, const json::value& value);
void append_json_string(std::string& out, std::string_view text);  // with quotes

// The member at a path of names with dots between ("spec.nodeName"); null if none exists.
[[nodiscard]] const json::value* find_at(const json::object& object, std::string_view path);

// The same for one type of value: "", null or unset if it is missing or of another type.
[[nodiscard]] std::string_view text_at(const json::object& object, std::string_view path);
[[nodiscard]] const json::object* object_at(const json::object& object, std::string_view path);
[[nodiscard]] const json::array* array_at(const json::object& object, std::string_view path);
// The elements of that list that are objects.
[[nodiscard]] std::vector<const json::object*> objects_at(const json::object& object,
                                                          std::string_view path);
[[nodiscard]] std::optional<std::int64_t> int_at(const json::object& object, std::string_view path);
[[nodiscard]] bool true_at(const json::object& object, std::string_view path);

// The condition of that type in the object's status; null if none exists.
[[nodiscard]] const json::object* find_condition(const json::object& object, std::string_view type);

// The annotation of that name; null if missing. Its text; "" if missing or not a string.
[[nodiscard]] const json::value* find_annotation(const json::object& object, std::string_view name);
[[nodiscard]] std::string_view annotation(const json::object& object, std::string_view name);

[[nodiscard]] std::string_view text_of(const json::value& value);  // "" if it is no string
[[nodiscard]] json::object* object_in(json::object& object, std::string_view key);
[[nodiscard]] json::array* array_in(json::object& object, std::string_view key);

// Calls visit(object) for each object in the list at a key.
template <typename Visit>
void each_object(json::object& parent, std::string_view key, const Visit& visit) {
  json::array* list = array_in(parent, key);
  if (list == nullptr) return;
  for (json::value& element : *list) {
    if (json::object* one = element.if_object()) visit(*one);
  }
}

// The object or list at a key of `object`; created if it is absent or of another type.
json::object& make_object(json::object& object, std::string_view key);
json::array& make_array(json::object& object, std::string_view key);

// Sets the value if it is absent or null.
void set_default(json::object& object, std::string_view key, json::value value);

}  // namespace stowage::local
