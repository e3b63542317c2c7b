// Strategic merge patches: like a merge patch, but lists that the schema knows by a key are merged
// element by element. The directives $patch (delete, replace, merge), $deleteFromPrimitiveList/...,
// $setElementOrder/... and $retainKeys are understood. Pure.
#pragma once

#include "local/api_error.h"
#include "local/json.h"
#include "local/schema.h"

namespace stowage::local {

// After an error the target is not to be used.
[[nodiscard]] ApiResult<void> strategic_patch(json::object& target, const json::object& patch,
                                              const Message& message);

}  // namespace stowage::local
