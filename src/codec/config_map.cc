#include "codec/config_map.h"

#include "base/json_writer.h"
#include "codec/object_out.h"

namespace stowage::codec {
namespace {

using base::JsonWriter;

constexpr std::size_t kMaxBytes = std::size_t{4} << 20U;  // the API server allows 1 MiB of data

Status read_metadata(JsonValue& value, ConfigMap& out) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "namespace") return read(field, out.ns);
    if (key == "name") return read(field, out.name);
    if (key == "uid") return read(field, out.uid);
    return {};
  });
}

}  // namespace

Result<ConfigMap> read_config_map(JsonText& parser, std::string_view json) {
  STOWAGE_TRY(fields, parser.open(json, kMaxBytes));
  ConfigMap out;
  STOWAGE_TRY_VOID(each_field(fields, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "metadata") return read_metadata(field, out);
    if (key != "data") return {};
    return each_field(field, [&](std::string_view name, JsonValue& text) -> Status {
      return read(text, out.data[std::string(name)]);
    });
  }));
  STOWAGE_TRY_VOID(parser.close());
  return out;
}

std::string config_map(const ConfigMap& map) {
  JsonWriter json(JsonWriter::Style::compact);
  begin_object(json, {.api_version = "v1", .kind = "ConfigMap", .ns = map.ns, .name = map.name});
  json.end_object();
  put_texts(json, "data", map.data);
  json.end_object();
  return json.take();
}

std::string config_map_patch(const std::map<std::string, std::string>& data) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  put_changes(json, "data", data);
  json.end_object();
  return json.take();
}

}  // namespace stowage::codec
