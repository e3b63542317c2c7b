#include "codec/encode.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/json_writer.h"

namespace stowage::codec {
namespace {

using base::JsonWriter;

constexpr std::size_t kMaxNote = 1024;
constexpr std::size_t kMaxWord = 128;       // reason, action, reporting instance
constexpr std::size_t kMaxMessage = 32768;  // of a condition
constexpr std::int64_t kMicrosPerSecond = 1'000'000;
// 0001-01-01 to 9999-12-31: what a four-digit year can say.
constexpr std::int64_t kFirstSecond = -62'135'596'800;
constexpr std::int64_t kLastSecond = 253'402'300'799;

// At most `most` bytes, cut between characters, with dots for what is missing.
std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  constexpr std::string_view kDots = "...";
  std::size_t end = most - kDots.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + std::string(kDots);
}

std::int64_t floor_seconds(std::int64_t micros) {
  const std::int64_t seconds = micros / kMicrosPerSecond;
  return micros % kMicrosPerSecond < 0 ? seconds - 1 : seconds;
}

std::string date_time(std::int64_t unix_seconds) {
  using namespace std::chrono;
  const sys_seconds when{seconds{std::clamp(unix_seconds, kFirstSecond, kLastSecond)}};
  const auto day = floor<days>(when);
  const year_month_day date{day};
  const hh_mm_ss time{when - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count());
}

}  // namespace

std::string time_text(std::int64_t unix_seconds) { return date_time(unix_seconds) + "Z"; }

std::string micro_time_text(std::int64_t unix_micros) {
  const std::int64_t seconds = floor_seconds(unix_micros);
  return fmt::format("{}.{:06}Z", date_time(seconds), unix_micros - seconds * kMicrosPerSecond);
}

std::string binding(const BindingAsk& ask) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  json.key("apiVersion").value("v1").key("kind").value("Binding");
  json.key("metadata").begin_object();
  json.key("name").value(ask.name).key("namespace").value(ask.ns);
  if (!ask.uid.empty()) json.key("uid").value(ask.uid);
  if (!ask.annotations.empty()) {
    json.key("annotations").begin_object();
    for (const auto& [key, value] : ask.annotations) json.key(key).value(value);
    json.end_object();
  }
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
  json.begin_object();
  json.key("apiVersion").value("events.k8s.io/v1").key("kind").value("Event");
  json.key("metadata").begin_object();
  json.key("name").value(record.name).key("namespace").value(ns);
  json.end_object();
  json.key("eventTime").value(micro_time_text(record.unix_micros));
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
  json.key("lastObservedTime").value(micro_time_text(unix_micros));
  json.end_object().end_object();
  return json.take();
}

std::string unschedulable_patch(const UnschedulableAsk& ask) {
  JsonWriter json(JsonWriter::Style::compact);
  json.begin_object();
  if (!ask.uid.empty()) json.key("metadata").begin_object().key("uid").value(ask.uid).end_object();
  json.key("status").begin_object().key("conditions").begin_array().begin_object();
  json.key("type").value("PodScheduled").key("status").value("False");
  json.key("reason").value(ask.reason);
  json.key("message").value(shortened(ask.message, kMaxMessage));
  if (ask.unix_seconds != 0) {
    json.key("lastTransitionTime").value(time_text(ask.unix_seconds));
  }
  json.end_object().end_array().end_object();
  json.end_object();
  return json.take();
}

std::string metadata_patch(const MetadataAsk& ask) {
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
