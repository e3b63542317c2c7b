#include "client/quotas.h"

#include <utility>

#include "codec/fields.h"
#include "codec/json_in.h"

namespace stowage::client {

namespace {

Status read_field(std::string_view key, codec::JsonValue& value, ConfigMap& map) {
  if (key == "data") return codec::read_texts(value, map.data);
  if (key != "metadata") return {};
  codec::Metadata meta;
  STOWAGE_TRY_VOID(codec::read_metadata(value, meta));
  map.ns = std::move(meta.ns);
  map.name = std::move(meta.name);
  return {};
}

}  // namespace

Result<ConfigMap> read_config_map(std::string_view json) {
  codec::JsonText text;
  STOWAGE_TRY(fields, text.open(json, codec::kMaxObjectBytes));
  ConfigMap map;
  STOWAGE_TRY_VOID(codec::each_field(
      fields, [&](std::string_view key, auto& value) { return read_field(key, value, map); }));
  STOWAGE_TRY_VOID(text.close());
  return map;
}

std::optional<core::Quotas> quotas_of(const std::vector<ConfigMap>& maps,
                                      std::vector<std::string>& notes) {
  for (const ConfigMap& map : maps) {
    if (map.ns == "kube-system" && map.name == "gpuquota") {
      notes.emplace_back("ConfigMap kube-system/gpuquota: quotas are not looked at yet");
    }
  }
  return std::nullopt;
}

}  // namespace stowage::client
