// What we send to the API server: compact JSON, made from plain data. Texts are cut to the lengths
// that the API accepts, so that a long reason is never the cause of a refused request.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dialect/objects.h"

namespace stowage::codec {

// POST .../pods/<name>/binding. The API server refuses it if the pod has another uid by now, and
// merges the annotations into the pod in the same transaction as the node's name.
struct BindingAsk {
  std::string ns;
  std::string name;
  std::string uid;
  std::string node;
  dialect::Annotations annotations;
};
[[nodiscard]] std::string binding(const BindingAsk& ask);

// An Event of events.k8s.io/v1 about an object.
struct EventRecord {
  enum class Type : std::uint8_t { normal, warning };
  std::string name;  // of the event: event_name()
  Type type = Type::normal;
  std::string reason;      // e.g. "FailedScheduling"
  std::string action;      // e.g. "Scheduling"
  std::string note;        // the sentence
  std::string controller;  // who reports: the scheduler's name
  std::string instance;    // which one of them
  std::int64_t unix_micros = 0;
  // What it is about.
  std::string kind = "Pod";
  std::string ns;  // empty for a node; the event then goes to the namespace "default"
  std::string object;
  std::string uid;
  std::string resource_version;
};
[[nodiscard]] std::string event(const EventRecord& record);
// "<object>.<hex>": unique while no two events about one object share a nanosecond.
[[nodiscard]] std::string event_name(std::string_view object, std::int64_t unix_nanos);
// Merge patch of an event that has happened again; `count` includes the first time.
[[nodiscard]] std::string event_series_patch(std::int32_t count, std::int64_t unix_micros);

// Strategic merge patch of pods/<name>/status: the condition PodScheduled is False. The reason is
// The reason is "Unschedulable" where one more node could help (core/explain/condition.h).
struct UnschedulableAsk {
  std::string uid;  // the patch is refused if the pod is another one by now
  std::string reason = "Unschedulable";
  std::string message;
  std::int64_t unix_seconds = 0;  // of the transition; 0: leave the time that is there
};
[[nodiscard]] std::string unschedulable_patch(const UnschedulableAsk& ask);

// Merge patch of a pod: annotations and labels to set, and annotations to take off.
struct MetadataAsk {
  std::string uid;  // the patch is refused if the pod is another one by now
  dialect::Annotations annotations;
  dialect::Annotations labels;
  std::string resource_version;  // set: refused if anything has changed since (409)
  std::vector<std::string> remove;
};
[[nodiscard]] std::string metadata_patch(const MetadataAsk& ask);

// A Time of the API, "2026-11-15T08:03:23Z"; what lies outside of its years is the nearest inside.
[[nodiscard]] std::string time_text(std::int64_t unix_seconds);

}  // namespace stowage::codec
