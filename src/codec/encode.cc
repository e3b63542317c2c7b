#include "codec/encode.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/rfc3339.h"
#include "codec/object_out.h"

namespace stowage::codec {
namespace {

using base::JsonWriter;

constexpr std::size_t kMaxNote = 1024;
constexpr std::size_t kMaxWord = 128;       // reason, action, reporting instance
constexpr std::size_t kMaxMessage = 32768;  // of a condition

// At most `most` bytes, cut between characters, with dots for the missing part.
std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  constexpr std::string_view kDots = "...";
  std::size_t end = most - kDots.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + std::string(kDots);
}

}  // namespace

std::string time_text(std::int64_t unix_seconds) {
  return base::format_rfc3339(
      std::clamp(unix_seconds, base::kFirstTimeSecond, base::kEndTimeSecond - 1));
}

std::string binding(const BindingRequest& ask) {
  JsonWriter json(JsonWriter::Style::compact);
  begin_object(json, {.api_version = "v1", .kind = "Binding", .ns = ask.ns, .name = ask.name});
  if (!ask.uid.empty()) json.key("uid").value(ask.uid);
  if (!ask.annotations.empty()) put_texts(json, "annotations", ask.annotations);
  json.end_object();
  json.key("target").begin_object();
  json.key("apiVersion").value("v1").key("kind").value("Node").key("name").value(ask.node);
  json.end_object();
  json.end_object();
  return json.take();
}

std::string event_name(std::string_view object, std::int64_t unix_nanos) {
  // Names of objects have at most 253 characters.
  constexpr std::size_t kMaxObject = 253 - 17;
  return fmt::format("{}.{:x}", object.substr(0, kMaxObject),
                     static_cast<std::uint64_t>(unix_nanos));
}

std::string event(const EventRecord& record) {
  const std::string ns = record.ns.empty() ? "default" : record.ns;
  JsonWriter json(JsonWriter::Style::compact);
  begin_object(json,
               {.api_version = "events.k8s.io/v1", .kind = "Event", .ns = ns, .name = record.name});
  json.end_object();
  json.key("eventTime").value(base::format_rfc3339_micros(record.unix_micros));
  json.key("type").value(record.type == EventRecord::Type::normal ? "Normal" : "Warning");
  json.key("reason").value(shortened(record.reason, kMaxWord));
  json.key("action").value(shortened(record.action, kMaxWord));
  json.key("note").value(shortened(record.note, kMaxNote));
  json.key("reportingController").value(record.controller);
  json.key("reportingInstance").value(shortened(record.instance, kMaxWord));
  json.key("regarding").begin_object();
  json.key("apiVersion").value("v1").key("kind").value(record.kind);
  if (!record.ns.empty()) json.key("namespace").value(record.ns);
  json.key("name").value(record.object);
  if (!record.uid.empty()) json.key("uid").value(record.uid);
  if (!record.resource_version.empty()) json.key("resourceVersion").value(record.resource_version);
  json.end_object();
  json.end_object();
  return json.take();
}

std::string event_series_patch(std::int32_t count, std::int64_t unix_micros) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object().key("series").begin_object();
  json.key("count").value(count);
  json.key("lastObservedTime").value(base::format_rfc3339_micros(unix_micros));
  json.end_object().end_object();
  return json.take();
}

std::string unschedulable_patch(const UnschedulableRequest& ask) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  if (!ask.uid.empty()) json.key("metadata").begin_object().key("uid").value(ask.uid).end_object();
  json.key("status").begin_object().key("conditions").begin_array().begin_object();
  json.key("type").value("PodScheduled").key("status").value("False");
  json.key("reason").value(ask.reason);
  json.key("message").value(shortened(ask.message, kMaxMessage));
  if (ask.unix_seconds != 0) json.key("lastTransitionTime").value(time_text(ask.unix_seconds));
  json.end_object().end_array().end_object();
  json.end_object();
  return json.take();
}

std::string metadata_patch(const MetadataRequest& ask) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object().key("metadata").begin_object();
  if (!ask.uid.empty()) json.key("uid").value(ask.uid);
  if (!ask.resource_version.empty()) json.key("resourceVersion").value(ask.resource_version);
  const auto put = [&](const char* name, const dialect::Annotations& texts,
                       const std::vector<std::string>& without) {
    if (texts.empty() && without.empty()) return;
    json.key(name).begin_object();
    for (const auto& [key, value] : texts) json.key(key).value(value);
    for (const std::string& key : without) json.key(key).null();
    json.end_object();
  };
  put("annotations", ask.annotations, ask.remove);
  put("labels", ask.labels, {});
  json.end_object().end_object();
  return json.take();
}

}  // namespace stowage::codec
