// Requests to the API server: compact JSON, built from plain data. Texts are cut to the lengths
// that the API accepts, so that a long reason never makes a request fail.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dialect/objects.h"

namespace stowage::codec {

// POST .../pods/<name>/binding. The API server rejects it if the pod has another uid, and merges
// the annotations into the pod in the same transaction as the node name.
struct BindingRequest {
  std::string ns;
  std::string name;
  std::string uid;
  std::string node;
  dialect::Annotations annotations;
};
[[nodiscard]] std::string binding(const BindingRequest& ask);

// An Event of events.k8s.io/v1 about an object.
struct EventRecord {
  enum class Type : std::uint8_t { normal, warning };
  std::string name;  // of the event: event_name()
  Type type = Type::normal;
  std::string reason;      // e.g. "FailedScheduling"
  std::string action;      // e.g. "Scheduling"
  std::string note;        // the message
  std::string controller;  // the reporting scheduler's name
  std::string instance;    // the reporting replica
  std::int64_t unix_micros = 0;
  // The object of the event.
  std::string kind = "Pod";
  std::string ns;  // empty for a node; the event then goes to the namespace "default"
  std::string object;
  std::string uid;
  std::string resource_version;
};
[[nodiscard]] std::string event(const EventRecord& record);
// "<object>.<hex>": unique while no two events about one object share a nanosecond.
[[nodiscard]] std::string event_name(std::string_view object, std::int64_t unix_nanos);
// Merge patch of a repeated event; `count` includes the first occurrence.
[[nodiscard]] std::string event_series_patch(std::int32_t count, std::int64_t unix_micros);

// Strategic merge patch of pods/<name>/status: the condition PodScheduled is False. The reason is
// "Unschedulable" if one more node could help (core/explain/condition.h).
struct UnschedulableRequest {
  std::string uid;  // the patch is rejected if the pod has another uid
  std::string reason = "Unschedulable";
  std::string message;
  std::int64_t unix_seconds = 0;  // of the transition; 0: keep the existing time
};
[[nodiscard]] std::string unschedulable_patch(const UnschedulableRequest& ask);

// Merge patch of a pod: annotations and labels to set, and annotations to remove.
struct MetadataRequest {
  std::string uid;  // the patch is rejected if the pod has another uid
  dialect::Annotations annotations;
  dialect::Annotations labels;
  std::string resource_version;  // set: rejected if anything has changed since (409)
  std::vector<std::string> remove;
};
[[nodiscard]] std::string metadata_patch(const MetadataRequest& ask);

// A Time of the API, "2026-11-15T08:03:23Z"; times outside its range become the nearest valid one.
[[nodiscard]] std::string time_text(std::int64_t unix_seconds);

}  // namespace stowage::codec
