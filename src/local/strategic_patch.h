// Strategic merge patches: like a merge patch, but lists with a merge key in the schema are merged
// element by element. Supports the directives $patch (delete, replace, merge),
// $deleteFromPrimitiveList/..., $setElementOrder/... and $retainKeys. Pure.
#pragma once

#include "local/api_error.h"
#include "local/json.h"
#include "local/schema.h"

namespace stowage::local {

// After an error the target is in an unspecified state.
[[nodiscard]] ApiResult<void> strategic_patch(json::object& target, const json::object& patch,
                                              const Message& message);

}  // namespace stowage::local
