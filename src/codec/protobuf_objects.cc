#include "codec/protobuf_objects.h"

#include <fmt/format.h>

#include "codec/fields.h"
#include "codec/protobuf_in.h"

namespace stowage::codec {
namespace {

using Wire = ProtobufField::Wire;

constexpr std::string_view kMagic("k8s\0", 4);
constexpr std::string_view kListSuffix = "List";
constexpr std::size_t kMaxShown = 64;

constexpr std::uint32_t kMetadata = 1;         // of any object, and of a list
constexpr std::uint32_t kResourceVersion = 6;  // of an object's metadata
constexpr std::uint32_t kAnnotations = 12;

Status read_list_metadata(std::string_view message, ListPage& page) {
  ProtobufFields fields(message);
  for (ProtobufField field; fields.next(field);) {
    if (field.number == 2) page.resource_version.assign(field.bytes);
    if (field.number == 3) page.continue_token.assign(field.bytes);
  }
  if (fields.broken()) return fail("metadata: malformed protobuf");
  return {};
}

bool ends_initial_events(std::string_view metadata) {
  ProtobufFields fields(metadata);
  for (ProtobufField field; fields.next(field);) {
    if (field.number == kAnnotations &&
        protobuf_bytes(field.bytes, 1) == "k8s.io/initial-events-end") {
      return protobuf_bytes(field.bytes, 2) == "true";
    }
  }
  return false;
}

}  // namespace

Result<ProtobufObject> protobuf_object(std::string_view bytes) {
  if (!bytes.starts_with(kMagic))
    return fail("it does not begin with the prefix of Kubernetes protobuf");
  ProtobufObject object;
  std::string_view encoding;
  std::string_view content;
  ProtobufFields fields(bytes.substr(kMagic.size()));
  for (ProtobufField field; fields.next(field);) {
    if (field.wire != Wire::bytes) continue;
    if (field.number == 1) object.kind = protobuf_bytes(field.bytes, 2);
    if (field.number == 2) object.message = field.bytes;
    if (field.number == 3) encoding = field.bytes;
    if (field.number == 4) content = field.bytes;
  }
  if (fields.broken()) return fail("malformed protobuf");
  if (!encoding.empty() || content == "application/json") {
    return fail("the object inside is not protobuf");
  }
  return object;
}

Result<ProtobufPage> protobuf_list(std::string_view bytes) {
  if (bytes.size() > kMaxListBytes) {
    return fail(fmt::format("the list has {} bytes; the limit is {}", bytes.size(), kMaxListBytes));
  }
  STOWAGE_TRY(object, protobuf_object(bytes));
  if (!object.kind.ends_with(kListSuffix)) {
    return fail(fmt::format("\"{}\" is not a list", object.kind.substr(0, kMaxShown)));
  }
  ProtobufPage list;
  list.kind = object.kind.substr(0, object.kind.size() - kListSuffix.size());
  ProtobufFields fields(object.message);
  for (ProtobufField field; fields.next(field);) {
    if (field.wire != Wire::bytes) continue;
    if (field.number == kMetadata) {
      STOWAGE_TRY_VOID(read_list_metadata(field.bytes, list.page));
    } else if (field.number == 2) {
      list.page.items.push_back(field.bytes);
    }
  }
  if (fields.broken()) return fail("malformed protobuf");
  return list;
}

Result<ProtobufEvent> protobuf_watch_event(std::string_view bytes) {
  std::string_view type;
  std::string_view raw;
  ProtobufFields fields(bytes);
  for (ProtobufField field; fields.next(field);) {
    if (field.wire != Wire::bytes) continue;
    if (field.number == 1) type = field.bytes;
    if (field.number == 2) raw = protobuf_bytes(field.bytes, 1);
  }
  if (fields.broken()) return fail("malformed protobuf");
  const auto known = watch_event_type(type);
  if (!known) {
    return fail(
        fmt::format("type: \"{}\" is not a type of watch event", type.substr(0, kMaxShown)));
  }
  STOWAGE_TRY(object, protobuf_object(raw));
  ProtobufEvent out;
  out.kind = object.kind;
  out.event.type = *known;
  out.event.object = object.message;
  if (*known != WatchEvent::Type::bookmark) return out;
  out.event.resource_version.assign(protobuf_version(object.message));
  out.event.initial_events_end = ends_initial_events(protobuf_bytes(object.message, kMetadata));
  return out;
}

std::string_view protobuf_version(std::string_view message) {
  return protobuf_bytes(protobuf_bytes(message, kMetadata), kResourceVersion);
}

}  // namespace stowage::codec
