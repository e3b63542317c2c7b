// Events have two forms, in the core group and in events.k8s.io, of the same stored objects. Pure.
#pragma once

#include "local/json.h"
#include "local/problems.h"

namespace stowage::local {

// From the form of events.k8s.io to that of the core group, and back. Members with the same name in
// both stay; apiVersion is changed if present. Patches can be converted too.
void event_to_core(json::object& event);
void event_from_core(json::object& event);

// What events.k8s.io requires of a new event; `event` is in core form.
void validate_new_event(const json::object& event, Problems& problems);

}  // namespace stowage::local
