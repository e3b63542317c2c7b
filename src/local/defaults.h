// The values that the API sets where a client left them out. Pure: changes only the given object.
// Requires: objects that conform to the schema.
#pragma once

#include <string_view>

#include "local/json.h"
#include "local/resources.h"
#include "local/wall_time.h"

namespace stowage::local {

// On every write: the fields that every version of an object has.
void set_defaults(Kind kind, json::object& object);
// Only on creation: generation, the first status, and what is derived from the new uid. Requires:
// metadata.uid and metadata.name are set.
void set_first_values(Kind kind, json::object& object, WallTime now);

void default_pod_spec(json::object& spec);
// Guaranteed, Burstable or BestEffort.
[[nodiscard]] std::string_view qos_class(const json::object& pod_spec);

// Adds a condition, or updates the one of that type. lastTransitionTime changes only with the
// status.
struct Condition {
  std::string_view type;
  std::string_view status;  // True, False, Unknown
  std::string_view reason;
  std::string_view message;
};
void set_condition(json::object& status, const Condition& condition, WallTime now);

}  // namespace stowage::local
