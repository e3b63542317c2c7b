#include "codec/fields.h"

namespace stowage::codec {

Status read_texts(JsonValue& value, std::map<std::string, std::string>& out, std::size_t most) {
  out.clear();
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (out.size() > most) return {};
    STOWAGE_TRY(text, field.text());
    out.insert_or_assign(std::string(key), std::string(text));
    return {};
  });
}

Status read_quantities(JsonValue& value, dialect::Quantities& out) {
  out.clear();
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    const bool is_number = field.kind() == JsonValue::Kind::number;
    STOWAGE_TRY(text, is_number ? field.number() : field.text());
    auto quantity = base::Quantity::parse(text);
    if (!quantity) return field.wrong(quantity.error().message);
    out.insert_or_assign(std::string(key), *quantity);
    return {};
  });
}

Status read_strings(JsonValue& value, std::vector<std::string>& out, std::size_t most) {
  out.clear();
  return each_element(value, [&](JsonValue& element) -> Status {
    return out.size() > most ? Status() : read(element, out.emplace_back());
  });
}

namespace {

Status read_owners(JsonValue& value, Metadata& out) {
  out.owner_kinds.clear();
  out.controller_uid.clear();
  constexpr std::size_t kMaxOwners = 64;
  return each_element(value, [&](JsonValue& element) -> Status {
    if (out.owner_kinds.size() == kMaxOwners) return {};
    std::string& kind = out.owner_kinds.emplace_back();
    std::string uid;
    bool controls = false;
    STOWAGE_TRY_VOID(each_field(element, [&](std::string_view key, JsonValue& field) -> Status {
      if (key == "kind") return read(field, kind);
      if (key == "uid") return read(field, uid);
      return key == "controller" ? read(field, controls) : Status();
    }));
    if (controls && out.controller_uid.empty()) out.controller_uid = std::move(uid);
    return {};
  });
}

}  // namespace

Status read_metadata(JsonValue& value, Metadata& out) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "name") return read(field, out.name);
    if (key == "namespace") return read(field, out.ns);
    if (key == "uid") return read(field, out.uid);
    if (key == "resourceVersion") return read(field, out.resource_version);
    if (key == "creationTimestamp") return read(field, out.created);
    if (key == "labels") return read_texts(field, out.labels);
    if (key == "annotations") return read_texts(field, out.annotations, dialect::kMaxAnnotations);
    if (key == "ownerReferences") return read_owners(field, out);
    if (key == "deletionTimestamp") out.deleting = true;
    return {};
  });
}

}  // namespace stowage::codec
