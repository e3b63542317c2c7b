#include "local/patch.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/number.h"

namespace stowage::local {
namespace {

constexpr std::size_t kOperationsMax = 10'000;
constexpr std::size_t kShown = 256;  // of a path, in a message
// Limit of all copies together: a few copies of a value into itself would fill any memory.
constexpr std::size_t kCopiedMax = 3U << 20U;

ApiError wrong(std::string message) { return api_error(422, "Invalid", std::move(message)); }

// "/spec/containers/0" -> its decoded parts; unset if it is not a JSON pointer.
std::optional<std::vector<std::string>> parts_of(std::string_view pointer) {
  std::vector<std::string> parts;
  if (pointer.empty()) return parts;
  if (pointer.front() != '/') return std::nullopt;
  pointer.remove_prefix(1);
  while (true) {
    const std::size_t end = pointer.find('/');
    std::string part;
    const std::string_view raw = pointer.substr(0, end);
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] != '~') {
        part += raw[i];
      } else if (i + 1 < raw.size() && (raw[i + 1] == '0' || raw[i + 1] == '1')) {
        part += raw[++i] == '0' ? '~' : '/';
      } else {
        return std::nullopt;
      }
    }
    parts.push_back(std::move(part));
    if (end == std::string_view::npos) return parts;
    pointer.remove_prefix(end + 1);
  }
}

// The index `key` in a list of that size; with `insert` also the size itself, or "-".
std::optional<std::size_t> index_of(std::string_view key, std::size_t size, bool insert) {
  if (insert && key == "-") return size;
  const auto index = base::parse_number<std::size_t>(key);
  if (!index || (key.size() > 1 && key.front() == '0')) return std::nullopt;
  return *index < size || (insert && *index == size) ? index : std::nullopt;
}

using Parts = std::vector<std::string>;

json::value* child_of(json::value& at, std::string_view key) {
  if (json::object* object = at.if_object()) return object->if_contains(key);
  if (json::array* list = at.if_array()) {
    const auto index = index_of(key, list->size(), false);
    return index ? &(*list)[*index] : nullptr;
  }
  return nullptr;
}

json::value* find(json::value& root, const Parts& parts, std::size_t count) {
  json::value* at = &root;
  for (std::size_t i = 0; i < count && at != nullptr; ++i) at = child_of(*at, parts[i]);
  return at;
}

bool add(json::value& root, const Parts& parts, json::value value) {
  if (parts.empty()) {
    root = std::move(value);
    return true;
  }
  json::value* parent = find(root, parts, parts.size() - 1);
  if (parent == nullptr) return false;
  if (json::object* object = parent->if_object()) {
    (*object)[parts.back()] = std::move(value);
    return true;
  }
  json::array* list = parent->if_array();
  if (list == nullptr) return false;
  const auto index = index_of(parts.back(), list->size(), true);
  if (!index) return false;
  list->insert(list->begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
  return true;
}

bool remove(json::value& root, const Parts& parts) {
  if (parts.empty()) return false;
  json::value* parent = find(root, parts, parts.size() - 1);
  if (parent == nullptr) return false;
  if (json::object* object = parent->if_object()) return object->erase(parts.back()) > 0;
  json::array* list = parent->if_array();
  if (list == nullptr) return false;
  const auto index = index_of(parts.back(), list->size(), false);
  if (!index) return false;
  list->erase(list->begin() + static_cast<std::ptrdiff_t>(*index));
  return true;
}

std::size_t weight(const json::value& value) {
  std::size_t sum = 1;
  if (const json::object* object = value.if_object()) {
    for (const auto& member : *object) sum += member.key().size() + weight(member.value());
  } else if (const json::array* list = value.if_array()) {
    for (const json::value& element : *list) sum += weight(element);
  } else if (const json::string* text = value.if_string()) {
    sum += text->size();
  }
  return sum;
}

// The number of levels of the value. Input is limited, so the recursion is short.
std::size_t depth(const json::value& value) {
  std::size_t deepest = 0;
  if (const json::object* object = value.if_object()) {
    for (const auto& member : *object) deepest = std::max(deepest, depth(member.value()));
    return deepest + 1;
  }
  if (const json::array* list = value.if_array()) {
    for (const json::value& element : *list) deepest = std::max(deepest, depth(element));
    return deepest + 1;
  }
  return 0;
}

// Operations that put values into values could nest without limit, and later walks over the object
// would overflow the stack.
bool too_deep(const Parts& path, const json::value& value) {
  return path.size() > kJsonDepthMax || path.size() + depth(value) > kJsonDepthMax;
}

ApiResult<void> apply(json::value& target, const json::object& operation, std::size_t& copied) {
  const std::string_view op = text_at(operation, "op");
  const std::string_view pointer = text_at(operation, "path");
  const auto path = parts_of(pointer);
  if (!operation.contains("path") || !path) {
    return refuse(bad_request(fmt::format("{} operation has a bad path \"{}\"",
                                          op.substr(0, kShown), pointer.substr(0, kShown))));
  }
  const json::value* value = operation.if_contains("value");
  if ((op == "add" || op == "replace" || op == "test") && value == nullptr) {
    return refuse(bad_request(
        fmt::format("{} operation of \"{}\" has no value", op, pointer.substr(0, kShown))));
  }
  const auto missing = [&] {
    return refuse(
        wrong(fmt::format("{} operation does not apply: doc is missing path: \"{}\": "
                          "missing value",
                          op, pointer.substr(0, kShown))));
  };
  const auto deep = [&] {
    return refuse(wrong(fmt::format("{} operation of \"{}\" creates more than {} levels", op,
                                    pointer.substr(0, kShown), kJsonDepthMax)));
  };
  if ((op == "add" || op == "replace") && too_deep(*path, *value)) return deep();
  if (op == "add") {
    if (!add(target, *path, *value)) return missing();
  } else if (op == "remove") {
    if (!remove(target, *path)) return missing();
  } else if (op == "replace") {
    json::value* place = find(target, *path, path->size());
    if (place == nullptr) return missing();
    *place = *value;
  } else if (op == "test") {
    const json::value* place = find(target, *path, path->size());
    const bool equal = place == nullptr ? value->is_null() : *place == *value;
    if (!equal)
      return refuse(wrong(fmt::format("testing value {} failed", pointer.substr(0, kShown))));
  } else if (op == "move" || op == "copy") {
    const auto from = parts_of(text_at(operation, "from"));
    json::value* source = from ? find(target, *from, from->size()) : nullptr;
    if (source == nullptr) return missing();
    copied += weight(*source);
    if (copied > kCopiedMax) {
      return refuse(bad_request("the copies of the JSON patch are too large"));
    }
    if (too_deep(*path, *source)) return deep();
    json::value moved = *source;
    if (op == "move" && !remove(target, *from)) return missing();
    if (!add(target, *path, std::move(moved))) return missing();
  } else {
    return refuse(bad_request(fmt::format("Unexpected kind: \"{}\"", op.substr(0, kShown))));
  }
  return {};
}

}  // namespace

void merge_patch(json::value& target, const json::value& patch) {
  const json::object* members = patch.if_object();
  if (members == nullptr) {
    target = patch;
    return;
  }
  if (!target.is_object()) target.emplace_object();
  json::object& object = target.get_object();
  for (const auto& member : *members) {
    if (member.value().is_null()) {
      object.erase(member.key());
    } else {
      merge_patch(object[member.key()], member.value());
    }
  }
}

ApiResult<void> json_patch(json::value& target, const json::value& operations) {
  const json::array* list = operations.if_array();
  if (list == nullptr) return refuse(bad_request("a JSON patch is a list of operations"));
  if (list->size() > kOperationsMax) {
    return refuse(bad_request(fmt::format(
        "the JSON patch has {} operations; at most {} are allowed", list->size(), kOperationsMax)));
  }
  std::size_t copied = 0;
  for (const json::value& one : *list) {
    const json::object* operation = one.if_object();
    if (operation == nullptr)
      return refuse(bad_request("an operation of a JSON patch is an object"));
    if (auto done = apply(target, *operation, copied); !done) return done;
  }
  return {};
}

}  // namespace stowage::local
