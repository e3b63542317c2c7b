#include "codec/kubernetes.h"

#include <utility>

#include <fmt/format.h>

#include "codec/fields.h"

namespace stowage::codec {
namespace {

Result<WatchEvent::Type> event_type(JsonValue& value) {
  STOWAGE_TRY(word, value.text());
  const auto type = watch_event_type(word);
  if (type) return *type;
  return value.wrong(fmt::format("\"{}\" is not a type of watch event", word.substr(0, 64)));
}

Status read_details(JsonValue& value, StatusObject& out) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "kind") return read(field, out.kind);
    if (key == "name") return read(field, out.name);
    if (key == "retryAfterSeconds") return read(field, out.retry_after_seconds);
    if (key != "causes") return {};
    out.causes.clear();
    return each_element(field, [&](JsonValue& element) -> Status {
      StatusCause& cause = out.causes.emplace_back();
      return each_field(element, [&](std::string_view name, JsonValue& text) -> Status {
        if (name == "reason") return read(text, cause.reason);
        if (name == "message") return read(text, cause.message);
        if (name == "field") return read(text, cause.field);
        return {};
      });
    });
  });
}

}  // namespace

std::optional<WatchEvent::Type> watch_event_type(std::string_view word) {
  if (word == "ADDED") return WatchEvent::Type::added;
  if (word == "MODIFIED") return WatchEvent::Type::modified;
  if (word == "DELETED") return WatchEvent::Type::deleted;
  if (word == "BOOKMARK") return WatchEvent::Type::bookmark;
  if (word == "ERROR") return WatchEvent::Type::error;
  return std::nullopt;
}

Result<dialect::NodeObject> Decoder::node(std::string_view json) {
  STOWAGE_TRY(fields, text_.open(json, kMaxObjectBytes));
  dialect::NodeObject node;
  Metadata meta;
  const auto spec = [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "unschedulable") return read(field, node.unschedulable);
    if (key == "taints") return read_taints(field, node.taints);
    return {};
  };
  const auto status = [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "capacity") return read_quantities(field, node.capacity);
    if (key == "allocatable") return read_quantities(field, node.allocatable);
    return {};
  };
  STOWAGE_TRY_VOID(each_field(fields, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "metadata") return read_metadata(field, meta);
    if (key == "spec") return each_field(field, spec);
    if (key == "status") return each_field(field, status);
    return {};
  }));
  STOWAGE_TRY_VOID(text_.close());
  node.name = std::move(meta.name);
  node.uid = std::move(meta.uid);
  node.resource_version = std::move(meta.resource_version);
  node.labels = std::move(meta.labels);
  node.annotations = std::move(meta.annotations);
  return node;
}

ObjectIdentity Decoder::identity(std::string_view json) {
  ObjectIdentity found;
  auto fields = text_.open(json, kMaxObjectBytes);
  if (!fields) return found;
  // The fields before the first error have been read.
  (void)each_field(*fields, [&](std::string_view key, JsonValue& field) -> Status {
    if (key != "metadata") return {};
    found = {};
    return each_field(field, [&](std::string_view name, JsonValue& value) -> Status {
      if (name == "name") return read(value, found.name);
      if (name == "namespace") return read(value, found.ns);
      if (name == "uid") return read(value, found.uid);
      return {};
    });
  });
  return found;
}

Result<ListPage> Decoder::list(std::string_view json) {
  STOWAGE_TRY(fields, text_.open(json, kMaxListBytes));
  ListPage page;
  STOWAGE_TRY_VOID(each_field(fields, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "metadata") {
      return each_field(field, [&](std::string_view name, JsonValue& value) -> Status {
        if (name == "resourceVersion") return read(value, page.resource_version);
        if (name == "continue") return read(value, page.continue_token);
        return {};
      });
    }
    if (key != "items") return {};
    page.items.clear();
    return each_element(field, [&](JsonValue& element) -> Status {
      STOWAGE_TRY(item, element.raw_object());
      page.items.push_back(text_.given(item));
      return {};
    });
  }));
  STOWAGE_TRY_VOID(text_.close());
  return page;
}

Result<WatchEvent> Decoder::watch_event(std::string_view json) {
  STOWAGE_TRY(fields, text_.open(json, kMaxObjectBytes));
  WatchEvent event;
  bool typed = false;
  STOWAGE_TRY_VOID(each_field(fields, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "type") {
      STOWAGE_TRY_ASSIGN(event.type, event_type(field));
      typed = true;
    } else if (key == "object") {
      STOWAGE_TRY(object, field.raw_object());
      event.object = text_.given(object);
    }
    return {};
  }));
  STOWAGE_TRY_VOID(text_.close());
  if (!typed) return fail("type: missing in the watch event");
  if (event.object.empty()) return fail("object: missing in the watch event");
  if (event.type != WatchEvent::Type::bookmark) return event;
  // A bookmark has no other data.
  STOWAGE_TRY(bookmark, text_.open(event.object, kMaxObjectBytes));
  Metadata meta;
  STOWAGE_TRY_VOID(each_field(bookmark, [&](std::string_view key, JsonValue& field) -> Status {
    return key == "metadata" ? read_metadata(field, meta) : Status();
  }));
  event.resource_version = std::move(meta.resource_version);
  const auto mark = meta.annotations.find("k8s.io/initial-events-end");
  event.initial_events_end = mark != meta.annotations.end() && mark->second == "true";
  return event;
}

Result<StatusObject> Decoder::status(std::string_view json) {
  STOWAGE_TRY(fields, text_.open(json, kMaxObjectBytes));
  StatusObject out;
  STOWAGE_TRY_VOID(each_field(fields, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "kind") return read(field, out.own_kind);
    if (key == "code") return read(field, out.code);
    if (key == "status") return read(field, out.status);
    if (key == "reason") return read(field, out.reason);
    if (key == "message") return read(field, out.message);
    if (key == "details") return read_details(field, out);
    if (key == "metadata") {
      return each_field(field, [&](std::string_view name, JsonValue& value) -> Status {
        return name == "continue" ? read(value, out.continue_token) : Status();
      });
    }
    return {};
  }));
  STOWAGE_TRY_VOID(text_.close());
  return out;
}

}  // namespace stowage::codec
