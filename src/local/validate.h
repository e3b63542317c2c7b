// What the API refuses in an object whose types are valid. Pure. Requires: objects that conform to
// the schema and have their defaults.
#pragma once

#include <string_view>

#include "local/json.h"
#include "local/problems.h"
#include "local/resources.h"

namespace stowage::local {

void validate_metadata(Kind kind, const json::object& object, Problems& problems);
void validate_object(Kind kind, const json::object& object, Problems& problems);
// What must not change in an update.
void validate_change(Kind kind, const json::object& before, const json::object& after,
                     Problems& problems);

// Parts of the above.
void validate_labels(const json::object* labels, std::string_view path, Problems& problems);
void validate_pod_spec(const json::object& spec, std::string_view path, Problems& problems);
void validate_pod_change(const json::object& before, const json::object& after, Problems& problems);

}  // namespace stowage::local
