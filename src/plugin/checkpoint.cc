#include "plugin/checkpoint.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/base64.h"
#include "codec/json_in.h"

namespace stowage::plugin {
namespace {

using codec::JsonText;
using codec::JsonValue;

constexpr std::size_t kTextMax = 512;                          // of a uid, name or id
constexpr std::size_t kResponseMax = std::size_t{256} << 10U;  // of what the plugin answered

struct Reader {
  const std::set<std::string>& resources;
  Checkpoint out;
  std::size_t entries = 0;
  std::size_t ids = 0;

  // An entry with the parts that are only read if its resource is wanted.
  struct Raw {
    CheckpointEntry entry;
    std::string response;  // base64
  };

  Status text(JsonValue& value, std::string& to) const {
    STOWAGE_TRY(read, value.text());
    if (read.size() > kTextMax) return value.wrong("is too long");
    to = read;
    return {};
  }

  Status id(JsonValue& value, Ids& to) {
    if (++ids > kCheckpointIdsMax) return value.wrong("has too many devices");
    return text(value, to.emplace_back());
  }

  Status device_ids(JsonValue& value, Ids& to) {
    if (value.kind() == JsonValue::Kind::array) {
      return codec::each_element(value, [&](JsonValue& each) { return id(each, to); });
    }
    return codec::each_field(value, [&](std::string_view /*numa node*/, JsonValue& list) {
      return codec::each_element(list, [&](JsonValue& each) { return id(each, to); });
    });
  }

  Status entry(JsonValue& value) {
    if (++entries > kCheckpointEntriesMax) return value.wrong("is one entry too many");
    Raw raw;
    STOWAGE_TRY_VOID(
        codec::each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
          if (key == "PodUID") return text(field, raw.entry.pod_uid);
          if (key == "ContainerName") return text(field, raw.entry.container);
          if (key == "ResourceName") return text(field, raw.entry.resource);
          if (key == "DeviceIDs") return device_ids(field, raw.entry.ids);
          if (key != "AllocResp") return {};
          STOWAGE_TRY(response, field.text());
          if (response.size() > kResponseMax) return field.wrong("is too long");
          raw.response = response;
          return {};
        }));
    return keep(std::move(raw));
  }

  // What other plugins answered is not read, so that it cannot be wrong for us.
  Status keep(Raw raw) {
    CheckpointEntry& entry = raw.entry;
    if (!entry.pod_uid.empty()) out.pods.insert(entry.pod_uid);
    if (resources.count(entry.resource) == 0) {
      ids -= entry.ids.size();
      return {};
    }
    const auto refuse = [&](std::string_view why) {
      return fail(fmt::format("the entry of container \"{}\" of pod {}: {}", entry.container,
                              entry.pod_uid, why));
    };
    if (entry.pod_uid.empty() || entry.container.empty()) return refuse("it names no container");
    const auto bytes = base::base64_decode(raw.response);
    if (!bytes) return refuse("AllocResp is not base64");
    auto answered = read_container_response(*bytes);
    if (!answered) return refuse("AllocResp: " + answered.error().message);
    entry.cdi_devices = std::move(answered->cdi_devices);
    std::sort(entry.ids.begin(), entry.ids.end());
    // A device near several NUMA nodes is listed once for each.
    entry.ids.erase(std::unique(entry.ids.begin(), entry.ids.end()), entry.ids.end());
    out.entries.push_back(std::move(entry));
    return {};
  }

  Status data(JsonValue& value, bool& found) {
    return codec::each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
      if (key == "RegisteredDevices") found = true;
      if (key != "PodDeviceEntries") return {};
      found = true;
      return codec::each_element(field, [&](JsonValue& each) { return entry(each); });
    });
  }
};

}  // namespace

Result<Checkpoint> read_checkpoint(std::string_view json, const std::set<std::string>& resources) {
  JsonText text;
  STOWAGE_TRY(fields, text.open(json, kCheckpointBytesMax));
  Reader reader{.resources = resources, .out = {}};
  bool found = false;
  STOWAGE_TRY_VOID(codec::each_field(fields, [&](std::string_view key, JsonValue& value) -> Status {
    return key == "Data" ? reader.data(value, found) : Status{};
  }));
  STOWAGE_TRY_VOID(text.close());
  // Not "nothing is allocated": another format.
  if (!found) return fail("it has neither Data.PodDeviceEntries nor Data.RegisteredDevices");
  return std::move(reader.out);
}

}  // namespace stowage::plugin
