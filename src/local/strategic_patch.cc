#include "local/strategic_patch.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "local/patch.h"

namespace stowage::local {
namespace {

constexpr std::string_view kDirective = "$patch";
constexpr std::string_view kRetain = "$retainKeys";
constexpr std::string_view kDeleteFrom = "$deleteFromPrimitiveList/";
constexpr std::string_view kOrder = "$setElementOrder/";

bool is_directive(std::string_view key) {
  return key == kDirective || key == kRetain || key.starts_with(kDeleteFrom) ||
         key.starts_with(kOrder);
}

// The value without directives: those are never stored.
json::value without_directives(const json::value& value) {
  if (const json::object* object = value.if_object()) {
    json::object clean;
    for (const auto& member : *object) {
      if (is_directive(member.key()) || member.value().is_null()) continue;
      clean[member.key()] = without_directives(member.value());
    }
    return clean;
  }
  if (const json::array* list = value.if_array()) {
    json::array clean;
    for (const json::value& element : *list) {
      const json::object* one = element.if_object();
      if (one != nullptr && text_at(*one, kDirective) == "delete") continue;
      clean.push_back(without_directives(element));
    }
    return clean;
  }
  return value;
}

ApiError bad_patch(std::string why) {
  return bad_request("strategic merge patch: " + std::move(why));
}

// The element's value of the merge key; null if it has none.
const json::value* key_of(const json::value& element, std::string_view key) {
  const json::object* object = element.if_object();
  return object == nullptr ? nullptr : object->if_contains(key);
}

json::array::iterator find_keyed(json::array& list, std::string_view key,
                                 const json::value& value) {
  return std::find_if(list.begin(), list.end(), [&](const json::value& element) {
    const json::value* own = key_of(element, key);
    return own != nullptr && *own == value;
  });
}

// Elements named in `order` come in that order; each other element stays after its predecessor.
void sort_as(json::array& list, std::string_view key, const json::array& order) {
  const auto identity = [&](const json::value& element) -> const json::value* {
    return key == "*" ? &element : key_of(element, key);
  };
  const auto rank = [&](const json::value& element) -> std::ptrdiff_t {
    const json::value* own = identity(element);
    if (own == nullptr) return -1;
    const auto at = std::find_if(order.begin(), order.end(), [&](const json::value& wanted) {
      const json::value* id = key == "*" ? &wanted : key_of(wanted, key);
      return id != nullptr && *id == *own;
    });
    return at == order.end() ? -1 : at - order.begin();
  };
  std::vector<std::pair<std::ptrdiff_t, std::size_t>> places;
  std::ptrdiff_t last = -1;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::ptrdiff_t own = rank(list[i]);
    if (own >= 0) last = own;
    places.emplace_back(last, i);
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  json::array sorted;
  sorted.reserve(list.size());
  for (const auto& [unused, index] : places) sorted.push_back(std::move(list[index]));
  list = std::move(sorted);
}

ApiResult<void> merge_object(json::object& target, const json::object& patch,
                             const Message* message);

ApiResult<void> merge_keyed(json::array& list, const json::array& patch, const SchemaField& field) {
  const std::string_view key = field.merge_key;
  for (const json::value& element : patch) {
    const json::object* one = element.if_object();
    if (one == nullptr) {
      return refuse(bad_patch(fmt::format("an element of {} is not an object", field.name)));
    }
    const std::string_view directive = text_at(*one, kDirective);
    if (directive == "replace") continue;  // seen before
    const json::value* own = one->if_contains(key);
    if (own == nullptr) {
      return refuse(
          bad_patch(fmt::format("an element of {} has no merge key {}", field.name, key)));
    }
    const auto place = find_keyed(list, key, *own);
    if (directive == "delete") {
      if (place != list.end()) list.erase(place);
      continue;
    }
    if (!directive.empty() && directive != "merge") {
      return refuse(bad_patch(fmt::format("unknown directive \"{}\"", directive)));
    }
    if (place == list.end()) {
      list.push_back(without_directives(element));
    } else if (json::object* current = place->if_object()) {
      if (auto done = merge_object(*current, *one, field.message); !done) return done;
    }
  }
  return {};
}

ApiResult<void> merge_list(json::value& target, const json::array& patch,
                           const SchemaField& field) {
  const bool keyed = field.type == FieldType::message;
  const bool replaced = std::any_of(patch.begin(), patch.end(), [](const json::value& element) {
    const json::object* one = element.if_object();
    return one != nullptr && text_at(*one, kDirective) == "replace";
  });
  if (replaced || !target.is_array()) target.emplace_array();
  json::array& list = target.get_array();
  if (replaced) {
    for (const json::value& element : patch) {
      const json::object* one = element.if_object();
      if (one != nullptr && !one->contains(kDirective)) list.push_back(without_directives(element));
    }
    return {};
  }
  if (keyed) return merge_keyed(list, patch, field);
  for (const json::value& element : patch) {
    if (std::find(list.begin(), list.end(), element) == list.end()) list.push_back(element);
  }
  return {};
}

void delete_from_list(json::object& target, std::string_view name, const json::value& values) {
  json::array* list = array_in(target, name);
  const json::array* unwanted = values.if_array();
  if (list == nullptr || unwanted == nullptr) return;
  for (const json::value& one : *unwanted) {
    for (auto at = list->begin(); at != list->end();) at = *at == one ? list->erase(at) : at + 1;
  }
}

void retain_keys(json::object& target, const json::value& keys) {
  const json::array* kept = keys.if_array();
  if (kept == nullptr) return;
  std::vector<std::string> drop;
  for (const auto& member : target) {
    const json::value key(member.key());
    if (std::find(kept->begin(), kept->end(), key) == kept->end()) drop.emplace_back(member.key());
  }
  for (const std::string& key : drop) target.erase(key);
}

ApiResult<void> merge_member(json::object& target, std::string_view key, const json::value& value,
                             const Message* message) {
  if (value.is_null()) {
    target.erase(key);
    return {};
  }
  const SchemaField* field = message == nullptr ? nullptr : message->find(key);
  const json::array* list = value.if_array();
  if (list != nullptr && field != nullptr && field->shape == FieldShape::list &&
      !field->merge_key.empty()) {
    return merge_list(target[key], *list, *field);
  }
  const json::object* object = value.if_object();
  if (object == nullptr || (field != nullptr && field->replace)) {
    target[key] = without_directives(value);
    return {};
  }
  const bool single = field != nullptr && field->shape == FieldShape::single;
  return merge_object(make_object(target, key), *object, single ? field->message : nullptr);
}

ApiResult<void> merge_object(json::object& target, const json::object& patch,
                             const Message* message) {
  if (const json::value* directive = patch.if_contains(kDirective)) {
    const std::string_view what = text_of(*directive);
    if (what == "replace" || what == "delete") {
      target.clear();
      if (what == "replace") target = without_directives(patch).get_object();
      return {};
    }
    if (what != "merge") {
      return refuse(bad_patch(fmt::format("unknown directive \"{}\"", what)));
    }
  }
  if (const json::value* keys = patch.if_contains(kRetain)) retain_keys(target, *keys);
  for (const auto& member : patch) {
    const std::string_view key = member.key();
    if (key.starts_with(kDeleteFrom)) {
      delete_from_list(target, key.substr(kDeleteFrom.size()), member.value());
    } else if (!is_directive(key)) {
      if (auto done = merge_member(target, key, member.value(), message); !done) return done;
    }
  }
  for (const auto& member : patch) {
    const std::string_view key = member.key();
    if (!key.starts_with(kOrder)) continue;
    const std::string_view name = key.substr(kOrder.size());
    const SchemaField* field = message == nullptr ? nullptr : message->find(name);
    json::array* list = array_in(target, name);
    const json::array* order = member.value().if_array();
    if (field == nullptr || list == nullptr || order == nullptr) continue;
    if (!field->merge_key.empty()) sort_as(*list, field->merge_key, *order);
  }
  return {};
}

}  // namespace

ApiResult<void> strategic_patch(json::object& target, const json::object& patch,
                                const Message& message) {
  return merge_object(target, patch, &message);
}

}  // namespace stowage::local
