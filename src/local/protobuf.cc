#include "local/protobuf.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>

#include <fmt/core.h>

#include "base/base64.h"
#include "codec/protobuf_in.h"
#include "local/wall_time.h"

namespace stowage::local {
namespace {

constexpr std::string_view kMagic{"k8s\0", 4};
constexpr int kDepthMax = 48;

using codec::ProtobufField;
using codec::ProtobufFields;
using Wire = ProtobufField::Wire;

bool is_utf8(std::string_view text) {
  // The JSON parser checks UTF-8; quotes and escapes do not matter for that.
  std::string quoted;
  append_json_string(quoted, text);
  json::error_code error;
  const json::value value = json::parse(quoted, error);
  return !error;
}

class Decoder {
 public:
  [[nodiscard]] bool broken() const { return broken_; }

  json::object message(std::string_view bytes, const Message& message, int depth) {
    json::object object;
    fill(object, bytes, message, depth);
    return object;
  }

 private:
  void fill(json::object& object, std::string_view bytes, const Message& message, int depth) {
    if (depth > kDepthMax) {
      broken_ = true;
      return;
    }
    ProtobufFields reader(bytes);
    for (ProtobufField raw; reader.next(raw);) {
      const SchemaField* field = message.find_number(raw.number);
      if (field == nullptr) continue;
      if (field->inlined) {
        fill(object, raw.bytes, *field->message, depth + 1);
      } else {
        put(object, *field, raw, depth);
      }
      if (broken_) return;
    }
    broken_ = broken_ || reader.broken();
  }

  void put(json::object& object, const SchemaField& field, const ProtobufField& raw, int depth) {
    if (field.shape == FieldShape::map) {
      return map_entry(make_object(object, field.name), field, raw.bytes, depth);
    }
    if (field.shape == FieldShape::list) {
      json::array& list = make_array(object, field.name);
      const bool packed = raw.wire == Wire::bytes &&
                          (field.type == FieldType::int32 || field.type == FieldType::int64);
      if (packed) {
        for (ProtobufFields run(raw.bytes); !run.broken();) {
          const std::uint64_t number = run.varint();
          if (!run.broken()) list.emplace_back(static_cast<std::int64_t>(number));
        }
        return;
      }
      if (auto one = value(field, raw, depth)) list.push_back(std::move(*one));
      return;
    }
    auto one = value(field, raw, depth);
    if (!one || (!field.pointer && is_zero(*one))) return;
    object[field.name] = std::move(*one);
  }

  void map_entry(json::object& map, const SchemaField& field, std::string_view bytes, int depth) {
    std::string key;
    std::optional<json::value> content;
    ProtobufFields reader(bytes);
    for (ProtobufField raw; reader.next(raw);) {
      if (raw.number == 1) key = raw.bytes;
      if (raw.number == 2) content = value(field, raw, depth);
    }
    broken_ = broken_ || reader.broken() || !is_utf8(key);
    if (broken_) return;
    map[key] = content ? std::move(*content) : json::value("");
  }

  std::optional<json::value> value(const SchemaField& field, const ProtobufField& raw, int depth) {
    const bool scalar = field.type == FieldType::int32 || field.type == FieldType::int64 ||
                        field.type == FieldType::boolean;
    const Wire wanted = scalar                            ? Wire::varint
                        : field.type == FieldType::number ? Wire::fixed64
                                                          : Wire::bytes;
    if (raw.wire != wanted) {
      broken_ = true;
      return std::nullopt;
    }
    switch (field.type) {
      case FieldType::text:
        if (!is_utf8(raw.bytes)) broken_ = true;
        return json::value(raw.bytes);
      case FieldType::int32:
      case FieldType::int64: return json::value(static_cast<std::int64_t>(raw.integer));
      case FieldType::boolean: return json::value(raw.integer != 0);
      case FieldType::number: {
        double number = 0;
        std::memcpy(&number, &raw.integer, sizeof number);
        if (!std::isfinite(number)) return std::nullopt;  // JSON cannot express it
        return json::value(number);
      }
      case FieldType::bytes: return json::value(base::base64_encode(raw.bytes));
      case FieldType::message: return json::value(message(raw.bytes, *field.message, depth + 1));
      case FieldType::quantity: return first_text(raw.bytes);
      case FieldType::time:
      case FieldType::micro_time: return time(raw.bytes, field.type);
      case FieldType::int_or_text: return int_or_text(raw.bytes);
      case FieldType::anything: return std::nullopt;
    }
    return std::nullopt;
  }

  std::optional<json::value> first_text(std::string_view bytes) {
    ProtobufFields reader(bytes);
    for (ProtobufField raw; reader.next(raw);) {
      if (raw.number == 1 && raw.wire == Wire::bytes && is_utf8(raw.bytes)) {
        return json::value(raw.bytes);
      }
    }
    broken_ = broken_ || reader.broken();
    return json::value("0");
  }

  std::optional<json::value> time(std::string_view bytes, FieldType type) {
    if (bytes.empty()) return std::nullopt;
    std::int64_t seconds = 0;
    std::int64_t nanos = 0;
    ProtobufFields reader(bytes);
    for (ProtobufField raw; reader.next(raw);) {
      if (raw.number == 1) seconds = static_cast<std::int64_t>(raw.integer);
      if (raw.number == 2) nanos = static_cast<std::int64_t>(raw.integer);
    }
    constexpr std::int64_t kFarSeconds = 253'402'300'800;  // the year 10000
    if (reader.broken() || seconds < -62'135'596'800 || seconds >= kFarSeconds) {
      broken_ = true;
      return std::nullopt;
    }
    const WallTime at{std::chrono::seconds{seconds} + std::chrono::microseconds{nanos / 1000}};
    return json::value(type == FieldType::time ? time_text(at) : micro_time_text(at));
  }

  std::optional<json::value> int_or_text(std::string_view bytes) {
    std::int64_t type = 0;
    std::int64_t number = 0;
    std::string_view text;
    ProtobufFields reader(bytes);
    for (ProtobufField raw; reader.next(raw);) {
      if (raw.number == 1) type = static_cast<std::int64_t>(raw.integer);
      if (raw.number == 2) number = static_cast<std::int64_t>(raw.integer);
      if (raw.number == 3) text = raw.bytes;
    }
    broken_ = broken_ || reader.broken() || !is_utf8(text);
    if (type == 1) return json::value(text);
    return json::value(number);
  }

  static bool is_zero(const json::value& value) {
    switch (value.kind()) {
      case json::kind::string: return value.get_string().empty();
      case json::kind::int64: return value.get_int64() == 0;
      case json::kind::bool_: return !value.get_bool();
      case json::kind::double_: return value.get_double() == 0;
      case json::kind::object: return value.get_object().empty();
      default: return false;
    }
  }

  bool broken_ = false;
};

ApiError broken_body() { return bad_request("the protobuf body is malformed"); }

}  // namespace

bool is_protobuf(std::string_view body) { return body.starts_with(kMagic); }

ApiResult<json::object> from_protobuf(const Schema& schema, std::string_view body) {
  if (!is_protobuf(body)) return refuse(broken_body());
  std::string_view api_version;
  std::string_view kind;
  std::string_view content;
  std::string_view content_type;
  ProtobufFields envelope(body.substr(kMagic.size()));
  for (ProtobufField raw; envelope.next(raw);) {
    if (raw.number == 1) {
      ProtobufFields type(raw.bytes);
      for (ProtobufField part; type.next(part);) {
        (part.number == 1 ? api_version : kind) = part.bytes;
      }
    }
    if (raw.number == 2) content = raw.bytes;
    if (raw.number == 4) content_type = raw.bytes;
  }
  if (envelope.broken() || !is_utf8(api_version) || !is_utf8(kind)) return refuse(broken_body());
  if (content_type == "application/json") {
    auto parsed = parse_json(content);
    if (!parsed || !parsed->is_object()) return refuse(broken_body());
    return std::move(parsed->get_object());
  }
  const Message* message = schema.message(kind);
  if (message == nullptr || api_version.starts_with(kEventsGroup)) {
    return refuse(
        api_error(415, "UnsupportedMediaType",
                  fmt::format("the protobuf form of {} is not supported here; send JSON", kind)));
  }
  Decoder decoder;
  json::object object = decoder.message(content, *message, 0);
  if (decoder.broken()) return refuse(broken_body());
  object["apiVersion"] = api_version;
  object["kind"] = kind;
  return object;
}

}  // namespace stowage::local
