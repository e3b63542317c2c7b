// What server-side apply adds to a merge: fields that the manager applied before and omits now are
// removed. Ownership by other managers is not tracked. Pure.
#pragma once

#include "local/json.h"
#include "local/schema.h"

namespace stowage::local {

// Removes from `target` what is in `before` but not in `now`: members, and elements of lists that
// have a merge key. Lists without a key count as one value.
void take_back(json::object& target, const json::object& before, const json::object& now,
               const Message& message);

}  // namespace stowage::local
