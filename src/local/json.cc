#include "local/json.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <utility>

#include <fmt/core.h>

namespace stowage::local {
namespace {

// The parser reads 1e999 as infinity, which JSON cannot express, so the object could not be read
// again. Depth is limited, so the recursion is short.
bool finite(const json::value& value) {
  if (const auto* object = value.if_object()) {
    return std::all_of(object->begin(), object->end(),
                       [](const auto& member) { return finite(member.value()); });
  }
  if (const auto* list = value.if_array()) return std::all_of(list->begin(), list->end(), finite);
  const double* number = value.if_double();
  return number == nullptr || std::isfinite(*number);
}

}  // namespace

Result<json::value> parse_json(std::string_view text, json::storage_ptr memory) {
  json::parse_options options;
  options.max_depth = kJsonDepthMax;
  try {
    json::stream_parser parser(std::move(memory), options);
    json::error_code error;
    const std::size_t used = parser.write_some(text.data(), text.size(), error);
    if (error) return fail(fmt::format("bad JSON near byte {}: {}", used, error.message()));
    const std::string_view rest = text.substr(used);
    const std::size_t odd = rest.find_first_not_of(" \t\r\n");
    if (odd != std::string_view::npos) {
      return fail(fmt::format("bad JSON at byte {}: text after the value", used + odd));
    }
    parser.finish(error);
    if (error) return fail(fmt::format("bad JSON: {}", error.message()));
    json::value value = parser.release();
    if (!finite(value)) return fail("bad JSON: a number is too large");
    return value;
  } catch (const std::exception& problem) {
    return fail(fmt::format("bad JSON: {}", problem.what()));
  }
}

void append_json(std::string& out, const json::value& value) {
  if (value.is_string()) return append_json_string(out, value.get_string());
  json::serializer serializer;
  serializer.reset(&value);
  char buffer[4096];
  while (!serializer.done()) {
    const auto part = serializer.read(buffer, sizeof buffer);
    out.append(part.data(), part.size());
  }
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t clean = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text, clean, i - clean);
    clean = i + 1;
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default: out += fmt::format("\\u{:04x}", c);
    }
  }
  out.append(text, clean, std::string_view::npos);
  out += '"';
}

const json::value* find_at(const json::object& object, std::string_view path) {
  const json::object* at = &object;
  while (true) {
    const std::size_t dot = path.find('.');
    const json::value* member = at->if_contains(path.substr(0, dot));
    if (member == nullptr || dot == std::string_view::npos) return member;
    at = member->if_object();
    if (at == nullptr) return nullptr;
    path.remove_prefix(dot + 1);
  }
}

const json::object* find_condition(const json::object& object, std::string_view type) {
  for (const json::object* one : objects_at(object, "status.conditions")) {
    if (text_at(*one, "type") == type) return one;
  }
  return nullptr;
}

const json::value* find_annotation(const json::object& object, std::string_view name) {
  const json::object* all = object_at(object, "metadata.annotations");
  return all == nullptr ? nullptr : all->if_contains(name);
}

std::string_view annotation(const json::object& object, std::string_view name) {
  const json::value* one = find_annotation(object, name);
  return one == nullptr ? std::string_view{} : text_of(*one);
}

std::string_view text_of(const json::value& value) {
  const json::string* text = value.if_string();
  return text == nullptr ? std::string_view{} : std::string_view(text->data(), text->size());
}

std::string_view text_at(const json::object& object, std::string_view path) {
  const json::value* value = find_at(object, path);
  return value == nullptr ? std::string_view{} : text_of(*value);
}

const json::object* object_at(const json::object& object, std::string_view path) {
  const json::value* value = find_at(object, path);
  return value == nullptr ? nullptr : value->if_object();
}

const json::array* array_at(const json::object& object, std::string_view path) {
  const json::value* value = find_at(object, path);
  return value == nullptr ? nullptr : value->if_array();
}

std::vector<const json::object*> objects_at(const json::object& object, std::string_view path) {
  std::vector<const json::object*> found;
  if (const json::array* list = array_at(object, path)) {
    for (const json::value& element : *list) {
      if (const json::object* one = element.if_object()) found.push_back(one);
    }
  }
  return found;
}

std::optional<std::int64_t> int_at(const json::object& object, std::string_view path) {
  const json::value* value = find_at(object, path);
  if (value == nullptr) return std::nullopt;
  if (const auto* whole = value->if_int64()) return *whole;
  if (const auto* big = value->if_uint64()) {
    if (*big <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return static_cast<std::int64_t>(*big);
    }
  }
  return std::nullopt;
}

bool true_at(const json::object& object, std::string_view path) {
  const json::value* value = find_at(object, path);
  const bool* flag = value == nullptr ? nullptr : value->if_bool();
  return flag != nullptr && *flag;
}

json::object* object_in(json::object& object, std::string_view key) {
  json::value* value = object.if_contains(key);
  return value == nullptr ? nullptr : value->if_object();
}

json::array* array_in(json::object& object, std::string_view key) {
  json::value* value = object.if_contains(key);
  return value == nullptr ? nullptr : value->if_array();
}

json::object& make_object(json::object& object, std::string_view key) {
  json::value& value = object[key];
  if (!value.is_object()) value.emplace_object();
  return value.get_object();
}

json::array& make_array(json::object& object, std::string_view key) {
  json::value& value = object[key];
  if (!value.is_array()) value.emplace_array();
  return value.get_array();
}

void set_default(json::object& object, std::string_view key, json::value value) {
  json::value& member = object[key];
  if (member.is_null()) member = std::move(value);
}

}  // namespace stowage::local
