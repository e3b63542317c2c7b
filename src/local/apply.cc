#include "local/apply.h"

#include <algorithm>
#include <string_view>

namespace stowage::local {
namespace {

void take_back_from(json::object& target, const json::object& before, const json::object& now,
                    const Message* message);

const json::object* keyed(const json::array& list, std::string_view key, const json::value& value) {
  for (const json::value& element : list) {
    const json::object* one = element.if_object();
    const json::value* own = one == nullptr ? nullptr : one->if_contains(key);
    if (own != nullptr && *own == value) return one;
  }
  return nullptr;
}

void take_back_elements(json::array& target, const json::array& before, const json::array& now,
                        const SchemaField& field) {
  for (auto at = target.begin(); at != target.end();) {
    json::object* element = at->if_object();
    const json::value* key = element == nullptr ? nullptr : element->if_contains(field.merge_key);
    const json::object* old = key == nullptr ? nullptr : keyed(before, field.merge_key, *key);
    const json::object* kept = key == nullptr ? nullptr : keyed(now, field.merge_key, *key);
    if (old != nullptr && kept == nullptr) {
      at = target.erase(at);
      continue;
    }
    if (old != nullptr) take_back_from(*element, *old, *kept, field.message);
    ++at;
  }
}

void take_back_values(json::array& target, const json::array& before, const json::array& now) {
  const auto has = [](const json::array& list, const json::value& value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  for (auto at = target.begin(); at != target.end();) {
    at = has(before, *at) && !has(now, *at) ? target.erase(at) : at + 1;
  }
}

void take_back_member(json::object& target, std::string_view key, const json::value& before,
                      const json::value* now, const SchemaField* field) {
  json::value* place = target.if_contains(key);
  if (place == nullptr) return;
  const bool list = field != nullptr && field->shape == FieldShape::list;
  if (place->is_object() && before.is_object()) {
    const json::object none;
    const json::object* kept = now == nullptr ? nullptr : now->if_object();
    const bool single = field != nullptr && field->shape == FieldShape::single;
    take_back_from(place->get_object(), before.get_object(), kept == nullptr ? none : *kept,
                   single ? field->message : nullptr);
    if (now == nullptr && place->get_object().empty()) target.erase(key);
  } else if (list && !field->merge_key.empty() && place->is_array() && before.is_array()) {
    const json::array none;
    const json::array* kept = now == nullptr ? nullptr : now->if_array();
    if (field->merge_key == "*") {
      take_back_values(place->get_array(), before.get_array(), kept == nullptr ? none : *kept);
    } else {
      take_back_elements(place->get_array(), before.get_array(), kept == nullptr ? none : *kept,
                         *field);
    }
    if (now == nullptr && place->get_array().empty()) target.erase(key);
  } else if (now == nullptr) {
    target.erase(key);
  }
}

void take_back_from(json::object& target, const json::object& before, const json::object& now,
                    const Message* message) {
  for (const auto& member : before) {
    const std::string_view key = member.key();
    take_back_member(target, key, member.value(), now.if_contains(key),
                     message == nullptr ? nullptr : message->find(key));
  }
}

}  // namespace

void take_back(json::object& target, const json::object& before, const json::object& now,
               const Message& message) {
  for (const auto& member : before) {
    const std::string_view key = member.key();
    if (key == "apiVersion" || key == "kind" || key == "status") continue;
    if (key == "metadata") {
      // Of metadata, only what a manager can own: the rest is the object's identity.
      const json::object none;
      const json::object* old = member.value().if_object();
      const json::object* kept = object_at(now, "metadata");
      json::object* place = object_in(target, "metadata");
      if (old == nullptr || place == nullptr) continue;
      for (const std::string_view part :
           {"labels", "annotations", "finalizers", "ownerReferences"}) {
        const json::value* value = old->if_contains(part);
        if (value == nullptr) continue;
        take_back_member(*place, part, *value, (kept == nullptr ? none : *kept).if_contains(part),
                         message.find("metadata")->message->find(part));
      }
      continue;
    }
    take_back_member(target, key, member.value(), now.if_contains(key), message.find(key));
  }
}

}  // namespace stowage::local
