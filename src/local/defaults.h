// The values that the API puts in where a client left them out. Pure: an object and the moment in,
// the fuller object out. Requires: objects that conform to the schema.
#pragma once

#include <string_view>

#include "local/json.h"
#include "local/resources.h"
#include "local/wall_time.h"

namespace stowage::local {

// Of every write: the fields that later versions of an object have too.
void set_defaults(Kind kind, json::object& object);
// Of a creation alone: generation, the first status, what is derived from the new uid. Requires:
// metadata.uid and metadata.name are set.
void set_first_values(Kind kind, json::object& object, WallTime now);

void default_pod_spec(json::object& spec);
// Guaranteed, Burstable or BestEffort.
[[nodiscard]] std::string_view qos_class(const json::object& pod_spec);

// Puts a condition in, or brings the one of that type up to date. The time of transition changes
// only with the status.
struct Condition {
  std::string_view type;
  std::string_view status;  // True, False, Unknown
  std::string_view reason;
  std::string_view message;
};
void set_condition(json::object& status, const Condition& condition, WallTime now);

}  // namespace stowage::local
