#include "codec/config_map.h"

namespace stowage::codec {
namespace {

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

}  // namespace stowage::codec
