// Parts of the objects and merge patches that we write.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json_writer.h"

namespace stowage::codec {

struct ObjectHead {
  std::string_view api_version;
  std::string_view kind;
  std::string_view ns;
  std::string_view name;
};
// Begins an object and its metadata; the caller may add fields and ends both.
inline void begin_object(base::JsonWriter& json, const ObjectHead& head) {
  json.begin_object();
  json.key("apiVersion").value(head.api_version).key("kind").value(head.kind);
  json.key("metadata").begin_object();
  json.key("name").value(head.name).key("namespace").value(head.ns);
}

using Texts = std::map<std::string, std::string>;
inline void put_texts(base::JsonWriter& json, std::string_view key, const Texts& texts) {
  json.key(key).begin_object();
  for (const auto& [name, text] : texts) json.key(name).value(text);
  json.end_object();
}

// For a merge patch: an empty text removes the value.
inline void put_or_remove(base::JsonWriter& json, std::string_view text) {
  if (text.empty()) {
    json.null();
  } else {
    json.value(text);
  }
}
inline void put_changes(base::JsonWriter& json, std::string_view key, const Texts& texts) {
  json.key(key).begin_object();
  for (const auto& [name, text] : texts) put_or_remove(json.key(name), text);
  json.end_object();
}

}  // namespace stowage::codec
