#include "local/events_convert.h"

#include <string>
#include <string_view>
#include <utility>

#include "local/resources.h"

namespace stowage::local {
namespace {

struct Pair {
  std::string_view core;
  std::string_view other;
};
constexpr Pair kNames[] = {{"involvedObject", "regarding"},
                           {"message", "note"},
                           {"reportingComponent", "reportingController"},
                           {"source", "deprecatedSource"},
                           {"firstTimestamp", "deprecatedFirstTimestamp"},
                           {"lastTimestamp", "deprecatedLastTimestamp"},
                           {"count", "deprecatedCount"}};

void rename(json::object& object, std::string_view from, std::string_view to) {
  json::value* value = object.if_contains(from);
  if (value == nullptr) return;
  json::value moved = std::move(*value);
  object.erase(from);
  object[to] = std::move(moved);
}

void need(const json::object& event, std::string_view path, std::string_view name,
          std::size_t size_max, Problems& problems) {
  const std::string_view text = text_at(event, path);
  if (text.empty()) problems.required(std::string(name));
  if (text.size() > size_max) {
    problems.invalid(std::string(name), "\"\"",
                     "can have at most " + std::to_string(size_max) + " characters");
  }
}

}  // namespace

void event_to_core(json::object& event) {
  for (const Pair& name : kNames) rename(event, name.other, name.core);
  if (event.contains("apiVersion")) event["apiVersion"] = "v1";
}

void event_from_core(json::object& event) {
  for (const Pair& name : kNames) rename(event, name.core, name.other);
  if (event.contains("apiVersion")) event["apiVersion"] = "events.k8s.io/v1";
}

void validate_new_event(const json::object& event, Problems& problems) {
  need(event, "eventTime", "eventTime", 64, problems);
  need(event, "reportingComponent", "reportingController", 253, problems);
  need(event, "reportingInstance", "reportingInstance", 128, problems);
  need(event, "action", "action", 128, problems);
  need(event, "reason", "reason", 128, problems);
  if (text_at(event, "message").size() > 1024) {
    problems.invalid("message", "\"\"", "can have at most 1024 characters");
  }
  const std::string_view type = text_at(event, "type");
  if (type != "Normal" && type != "Warning") {
    problems.invalid("type", "\"" + std::string(type) + "\"", "has invalid value");
  }
  if (object_at(event, "series") != nullptr && int_at(event, "series.count").value_or(0) < 2) {
    problems.invalid("series.count", "\"\"", "should be at least 2");
  }
  for (const std::string_view key : {"firstTimestamp", "lastTimestamp"}) {
    if (!text_at(event, key).empty()) {
      problems.invalid(std::string(key), "\"\"", "needs to be unset");
    }
  }
  if (int_at(event, "count").value_or(0) != 0) {
    problems.invalid("count", "\"\"", "needs to be unset");
  }
}

}  // namespace stowage::local
