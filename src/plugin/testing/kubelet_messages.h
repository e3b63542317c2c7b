// The kubelet's side of the messages, and its checkpoint, for tests.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/base64.h"
#include "base/json_writer.h"
#include "codec/protobuf_in.h"
#include "codec/protobuf_out.h"
#include "plugin/checkpoint.h"
#include "plugin/messages.h"

namespace stowage::plugin::testing {

// Every value of one field with bytes.
[[nodiscard]] inline std::vector<std::string> all_bytes(std::string_view message,
                                                        std::uint32_t number) {
  std::vector<std::string> found;
  codec::ProtobufFields fields(message);
  for (codec::ProtobufField field; fields.next(field);) {
    if (field.number == number && field.wire == codec::ProtobufField::Wire::bytes) {
      found.emplace_back(field.bytes);
    }
  }
  return found;
}

[[nodiscard]] inline std::string text_at(std::string_view message, std::uint32_t number) {
  return std::string(codec::protobuf_bytes(message, number));
}

[[nodiscard]] inline std::string ids_message(const Ids& ids) {
  codec::ProtobufWriter message;
  for (const std::string& id : ids) message.bytes(1, id);
  return message.take();
}

[[nodiscard]] inline std::string allocate_request(const std::vector<Ids>& containers) {
  codec::ProtobufWriter message;
  for (const Ids& ids : containers) message.bytes(1, ids_message(ids));
  return message.take();
}

// An entry as the kubelet writes it; `response` is the plugin's answer for the container.
struct StoredEntry {
  std::string pod_uid;
  std::string container;
  std::string resource;
  Ids ids;
  std::string response;
};

enum class IdsFormat : std::uint8_t { by_numa_node, list };

[[nodiscard]] inline std::string checkpoint_text(const std::vector<StoredEntry>& entries,
                                                 IdsFormat format = IdsFormat::by_numa_node) {
  base::JsonWriter json(base::JsonWriter::Style::compact);
  json.begin_object().key("Data").begin_object().key("PodDeviceEntries");
  if (entries.empty()) json.null();
  if (!entries.empty()) json.begin_array();
  for (const StoredEntry& entry : entries) {
    json.begin_object();
    json.key("PodUID").value(entry.pod_uid).key("ContainerName").value(entry.container);
    json.key("ResourceName").value(entry.resource).key("DeviceIDs");
    if (format == IdsFormat::by_numa_node) json.begin_object().key("-1");
    json.begin_array();
    for (const std::string& id : entry.ids) json.value(id);
    json.end_array();
    if (format == IdsFormat::by_numa_node) json.end_object();
    json.key("AllocResp").value(base::base64_encode(entry.response)).end_object();
  }
  if (!entries.empty()) json.end_array();
  json.key("RegisteredDevices").begin_object().key("stowage.dev/attachment").begin_array();
  json.value("attachment-0001").end_array().end_object().end_object();
  json.key("Checksum").value(std::int64_t{3812736401}).end_object();
  return json.take();
}

}  // namespace stowage::plugin::testing
