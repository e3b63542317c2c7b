#include "plugin/messages.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "codec/protobuf_in.h"
#include "codec/protobuf_out.h"

namespace stowage::plugin {
namespace {

using codec::ProtobufField;
using codec::ProtobufFields;
using codec::ProtobufWriter;
using Wire = ProtobufField::Wire;

constexpr std::string_view kVersion = "v1beta1";
constexpr std::size_t kNamesMax = 64;  // CDI devices and annotations of one container
constexpr std::size_t kNameBytesMax = 4096;

bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= kIdBytesMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

// A message whose field 1 holds ids.
Result<Ids> read_ids(std::string_view message) {
  Ids ids;
  ProtobufFields fields(message);
  for (ProtobufField field; fields.next(field);) {
    if (field.number != 1 || field.wire != Wire::bytes) continue;
    if (!is_id(field.bytes)) return fail("the id of a device is invalid");
    if (ids.size() == kRequestIdsMax) return fail("there are too many devices");
    ids.emplace_back(field.bytes);
  }
  if (fields.broken()) return fail("malformed protobuf");
  if (ids.empty()) return fail("there are no devices");
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) return fail(fmt::format("device {} appears twice", *twice));
  return ids;
}

Result<std::string> read_name(std::string_view message) {
  std::string name(codec::protobuf_bytes(message, 1));
  if (name.size() > kNameBytesMax) return fail("the name of a CDI device is too long");
  return name;
}

// An entry of a map of texts.
Result<std::pair<std::string, std::string>> read_entry(std::string_view message) {
  std::pair<std::string, std::string> entry(codec::protobuf_bytes(message, 1),
                                            codec::protobuf_bytes(message, 2));
  if (entry.first.size() > kNameBytesMax || entry.second.size() > kNameBytesMax) {
    return fail("an annotation is too long");
  }
  return entry;
}

}  // namespace

std::string plugin_options() { return ProtobufWriter().integer(1, 1).take(); }

std::string register_request(const Registration& registration) {
  return ProtobufWriter()
      .bytes(1, kVersion)
      .bytes(2, registration.endpoint)
      .bytes(3, registration.resource)
      .bytes(4, plugin_options())
      .take();
}

std::string device_list(const Ids& ids) {
  ProtobufWriter list;
  for (const std::string& id : ids) {
    list.bytes(1, ProtobufWriter().bytes(1, id).bytes(2, "Healthy").take());
  }
  return list.take();
}

Result<std::vector<Ids>> read_allocate_request(std::string_view message) {
  std::vector<Ids> containers;
  ProtobufFields fields(message);
  for (ProtobufField field; fields.next(field);) {
    if (field.number != 1 || field.wire != Wire::bytes) continue;
    if (containers.size() == kRequestContainersMax) return fail("there are too many containers");
    STOWAGE_TRY(ids, read_ids(field.bytes));
    containers.push_back(std::move(ids));
  }
  if (fields.broken()) return fail("malformed protobuf");
  return containers;
}

Result<Ids> read_pre_start_request(std::string_view message) { return read_ids(message); }

std::string allocate_response(const std::vector<Allocation>& containers) {
  ProtobufWriter response;
  for (const Allocation& container : containers) {
    ProtobufWriter one;
    for (const auto& [key, value] : container.annotations) {
      one.bytes(4, ProtobufWriter().bytes(1, key).bytes(2, value).take());
    }
    for (const std::string& name : container.cdi_devices) {
      one.bytes(5, ProtobufWriter().bytes(1, name).take());
    }
    response.bytes(1, one.take());
  }
  return response.take();
}

Result<Allocation> read_container_response(std::string_view message) {
  Allocation out;
  ProtobufFields fields(message);
  for (ProtobufField field; fields.next(field);) {
    if (field.wire != Wire::bytes || (field.number != 4 && field.number != 5)) continue;
    if (out.annotations.size() + out.cdi_devices.size() == kNamesMax) {
      return fail("there are too many CDI devices and annotations");
    }
    if (field.number == 5) {
      STOWAGE_TRY(name, read_name(field.bytes));
      out.cdi_devices.push_back(std::move(name));
    } else {
      STOWAGE_TRY(entry, read_entry(field.bytes));
      out.annotations.insert_or_assign(std::move(entry.first), std::move(entry.second));
    }
  }
  if (fields.broken()) return fail("malformed protobuf");
  return out;
}

}  // namespace stowage::plugin
