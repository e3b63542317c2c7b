#include "local/openapi.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/core.h>

#include "local/discovery.h"
#include "local/json.h"
#include "local/resources.h"

namespace stowage::local {
namespace {

std::string path_of(std::string_view group) {
  return group.empty() ? "api/v1" : fmt::format("apis/{}/v1", group);
}

std::string component(std::string_view message) { return fmt::format("io.k8s.{}", message); }

json::object plain_schema(const SchemaField& field) {
  switch (field.type) {
    case FieldType::text:
    case FieldType::quantity: return {{"type", "string"}};
    case FieldType::int32: return {{"type", "integer"}, {"format", "int32"}};
    case FieldType::int64: return {{"type", "integer"}, {"format", "int64"}};
    case FieldType::boolean: return {{"type", "boolean"}};
    case FieldType::number: return {{"type", "number"}, {"format", "double"}};
    case FieldType::bytes: return {{"type", "string"}, {"format", "byte"}};
    case FieldType::time:
    case FieldType::micro_time: return {{"type", "string"}, {"format", "date-time"}};
    case FieldType::int_or_text: return {{"type", "string"}, {"format", "int-or-string"}};
    case FieldType::anything: return {{"type", "object"}};
    case FieldType::message: break;
  }
  const json::object reference{
      {"$ref", fmt::format("#/components/schemas/{}", component(field.message->name))}};
  return {{"allOf", json::array{reference}}, {"default", json::object()}};
}

json::object field_schema(const SchemaField& field) {
  if (field.shape == FieldShape::single) return plain_schema(field);
  if (field.shape == FieldShape::map) {
    return {{"type", "object"}, {"additionalProperties", plain_schema(field)}};
  }
  json::object out{{"type", "array"}, {"items", plain_schema(field)}};
  if (field.merge_key.empty()) {
    out["x-kubernetes-list-type"] = "atomic";
    return out;
  }
  out["x-kubernetes-patch-strategy"] = field.retain_keys ? "merge,retainKeys" : "merge";
  if (field.merge_key == "*") {
    out["x-kubernetes-list-type"] = "set";
  } else {
    out["x-kubernetes-patch-merge-key"] = field.merge_key;
    out["x-kubernetes-list-type"] = "map";
    out["x-kubernetes-list-map-keys"] = json::array{field.merge_key};
  }
  return out;
}

using Messages = std::map<std::string_view, const Message*>;

void collect(const Message& message, Messages& found) {
  if (!found.emplace(message.name, &message).second) return;
  for (const SchemaField* field : message.by_name) {
    if (field->message != nullptr) collect(*field->message, found);
  }
}

json::object gvk(const Resource& resource, std::string_view group) {
  return {{"group", group}, {"version", resource.version}, {"kind", resource.kind}};
}

json::object message_schema(const Message& message) {
  json::object properties;
  for (const SchemaField* field : message.by_name) properties[field->name] = field_schema(*field);
  return {{"type", "object"}, {"properties", std::move(properties)}};
}

json::object parameter(std::string_view name) {
  return {{"name", name}, {"in", "query"}, {"schema", {{"type", "string"}, {"uniqueItems", true}}}};
}

// One path per kind whose patch operation has fieldValidation: from that kubectl knows that the
// server validates.
json::object operations(const Resource& resource, std::string_view group) {
  const json::object patch{
      {"x-kubernetes-action", "patch"},
      {"x-kubernetes-group-version-kind", gvk(resource, group)},
      {"parameters", json::array{parameter("dryRun"), parameter("fieldManager"),
                                 parameter("fieldValidation"), parameter("force")}},
      {"responses", {{"200", {{"description", "OK"}}}}}};
  return {{"patch", patch}};
}

}  // namespace

std::string openapi_index() {
  json::object paths;
  std::vector<std::string_view> groups{""};
  groups.insert(groups.end(), all_groups().begin(), all_groups().end());
  for (const std::string_view group : groups) {
    const std::string path = path_of(group);
    paths[path] = json::object{{"serverRelativeURL", fmt::format("/openapi/v3/{}?hash=1", path)}};
  }
  return json::serialize(json::object{{"paths", std::move(paths)}});
}

std::optional<std::string> openapi_document(const Schema& schema, std::string_view group_path) {
  const auto groups = all_groups();
  const auto known = std::find_if(groups.begin(), groups.end(), [&](std::string_view group) {
    return path_of(group) == group_path;
  });
  if (group_path != "api/v1" && known == groups.end()) return std::nullopt;
  const std::string_view group = group_path == "api/v1" ? std::string_view{} : *known;
  json::object paths;
  json::object schemas;
  Messages messages;
  for (const Resource& resource : all_resources()) {
    const bool second_form = group == kEventsGroup && resource.kind_id == Kind::event;
    if (resource.group != group && !second_form) continue;
    const std::string path =
        fmt::format("/{}/{}{}/{{name}}", group_path,
                    resource.namespaced ? "namespaces/{namespace}/" : "", resource.plural);
    paths[path] = operations(resource, group);
    if (second_form) continue;
    const Message& message = schema.of(resource.kind_id);
    collect(message, messages);
    json::object top = message_schema(message);
    top["x-kubernetes-group-version-kind"] = json::array{gvk(resource, group)};
    schemas[component(message.name)] = std::move(top);
  }
  for (const auto& [plain, message] : messages) {
    const std::string name = component(plain);
    if (!schemas.contains(name)) schemas[name] = message_schema(*message);
  }
  return json::serialize(json::object{{"openapi", "3.0.0"},
                                      {"info", {{"title", "Kubernetes"}, {"version", "stowage"}}},
                                      {"paths", std::move(paths)},
                                      {"components", {{"schemas", std::move(schemas)}}}});
}

}  // namespace stowage::local
