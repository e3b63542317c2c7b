#include "local/seal.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"

namespace stowage::local {
namespace {

// The bytes before the version, equal for all objects of the kind.
std::string head_of(Kind kind) {
  const Resource& resource = resource_of(kind);
  std::string head = "{\"kind\":\"";
  head += resource.kind;
  head += "\",\"apiVersion\":\"";
  head += api_version_of(kind);
  head += "\",\"metadata\":{\"resourceVersion\":\"";
  return head;
}

std::size_t head_size(Kind kind) {
  const Resource& resource = resource_of(kind);
  return std::string_view(R"({"kind":"","apiVersion":"","metadata":{"resourceVersion":")").size() +
         resource.kind.size() + api_version_of(kind).size();
}

std::size_t digits_of(std::uint64_t number) {
  std::size_t digits = 1;
  for (; number >= 10; number /= 10) ++digits;
  return digits;
}

void append_member(std::string& out, std::string_view key, const json::value& value) {
  out += ',';
  append_json_string(out, key);
  out += ':';
  append_json(out, value);
}

bool is_identity(std::string_view key) {
  return key == "name" || key == "namespace" || key == "resourceVersion";
}

std::string bytes_of(Kind kind, const ObjectName& name, const json::object& object,
                     std::uint64_t version) {
  std::string out = head_of(kind);
  out += std::to_string(version);
  out += "\",\"name\":";
  append_json_string(out, name.name);
  if (!name.ns.empty()) {
    out += ",\"namespace\":";
    append_json_string(out, name.ns);
  }
  if (const json::object* metadata = object_at(object, "metadata")) {
    for (const auto& member : *metadata) {
      if (!is_identity(member.key())) append_member(out, member.key(), member.value());
    }
  }
  out += '}';
  for (const auto& member : object) {
    const std::string_view key = member.key();
    if (key == "kind" || key == "apiVersion" || key == "metadata") continue;
    append_member(out, key, member.value());
  }
  out += '}';
  return out;
}

Labels labels_of(const json::object& object) {
  Labels labels;
  if (const json::object* members = object_at(object, "metadata.labels")) {
    labels.reserve(members->size());
    for (const auto& member : *members) labels.emplace_back(member.key(), text_of(member.value()));
    std::sort(labels.begin(), labels.end());
  }
  return labels;
}

std::string field_text(const json::object& object, std::string_view path) {
  if (path == "source") {
    const std::string_view component = text_at(object, "source.component");
    return std::string(component.empty() ? text_at(object, "reportingComponent") : component);
  }
  if (path == "status.podIPs") path = "status.podIP";
  const json::value* value = find_at(object, path);
  if (path == "spec.hostNetwork" || path == "spec.unschedulable") {
    return value != nullptr && true_at(object, path) ? "true" : "false";
  }
  if (path == "status.replicas") return std::to_string(int_at(object, path).value_or(0));
  if (path == "status.successful") {
    return std::to_string(int_at(object, "status.succeeded").value_or(0));
  }
  return value == nullptr ? std::string{} : std::string(text_of(*value));
}

std::string_view controller_uid(const json::object& object) {
  for (const json::object* owner : objects_at(object, "metadata.ownerReferences")) {
    if (true_at(*owner, "controller")) return text_at(*owner, "uid");
  }
  return {};
}

bool holds(const FieldRequirement& requirement, const StoredObject& object) {
  const std::string* value = nullptr;
  if (requirement.field == FieldRequirement::kName) {
    value = &object.name.name;
  } else if (requirement.field == FieldRequirement::kNamespace) {
    value = &object.name.ns;
  } else {
    value = &object.fields[requirement.field];
  }
  return (*value == requirement.value) == requirement.equal;
}

}  // namespace

ObjectPtr seal(Kind kind, const ObjectName& name, const json::object& object,
               std::uint64_t version) {
  auto sealed = std::make_shared<StoredObject>();
  sealed->kind = kind;
  sealed->name = name;
  sealed->uid = text_at(object, "metadata.uid");
  sealed->version = version;
  sealed->labels = labels_of(object);
  const auto paths = resource_of(kind).fields;
  sealed->fields.reserve(paths.size());
  for (const std::string_view path : paths) sealed->fields.push_back(field_text(object, path));
  sealed->owner_uid = controller_uid(object);
  sealed->deleting = !text_at(object, "metadata.deletionTimestamp").empty();
  sealed->bytes = bytes_of(kind, name, object, version);
  return sealed;
}

bool same_but_version(const StoredObject& a, const StoredObject& b) {
  const std::string_view rest_a = a.rest();
  const std::string_view rest_b = b.rest();
  // Serialised the same way, equal trees have equal length in any order of members.
  if (rest_a.size() != rest_b.size()) return false;
  if (rest_a == rest_b) return true;
  json::object tree_a = a.tree();
  json::object tree_b = b.tree();
  tree_a["metadata"].get_object().erase("resourceVersion");
  tree_b["metadata"].get_object().erase("resourceVersion");
  return tree_a == tree_b;
}

std::string_view StoredObject::rest() const {
  return std::string_view(bytes).substr(head_size(kind) + digits_of(version));
}

std::string_view StoredObject::field(std::string_view path) const {
  const auto index = resource_of(kind).field_index(path);
  STOWAGE_CHECK(index.has_value());
  return fields[*index];
}

json::object StoredObject::tree(json::storage_ptr memory) const {
  json::parse_options options;
  options.max_depth = kJsonDepthMax + 8;
  json::error_code error;
  json::value value = json::parse(bytes, error, std::move(memory), options);
  STOWAGE_CHECK(!error && value.is_object());
  return std::move(value.get_object());
}

bool Filter::matches(const StoredObject& object) const {
  if (!ns.empty() && object.name.ns != ns) return false;
  return std::all_of(fields.all.begin(), fields.all.end(),
                     [&](const FieldRequirement& one) { return holds(one, object); }) &&
         labels.matches(object.labels);
}

ObjectPtr with_version(const StoredObject& object, std::uint64_t version) {
  auto copy = std::make_shared<StoredObject>(object);
  const std::string_view rest = object.rest();
  copy->bytes = head_of(object.kind);
  copy->bytes += std::to_string(version);
  copy->bytes += rest;
  copy->version = version;
  return copy;
}

std::optional<WatchEvent> seen_through(const Filter& filter, const WatchEvent& event) {
  const bool before = event.previous != nullptr && filter.matches(*event.previous);
  const bool after = event.change != Change::deleted && filter.matches(*event.object);
  if (after) {
    return WatchEvent{before ? Change::modified : Change::added, event.object, event.previous};
  }
  if (!before) return std::nullopt;
  ObjectPtr last = event.change == Change::deleted ? event.object
                                                   : with_version(*event.previous, event.version());
  return WatchEvent{Change::deleted, std::move(last), event.previous};
}

}  // namespace stowage::local
