// Patches of JSON trees: RFC 7386 (merge) and RFC 6902 (operations). Pure.
#pragma once

#include "local/api_error.h"
#include "local/json.h"

namespace stowage::local {

// Members of the patch replace those of the target; null removes.
void merge_patch(json::value& target, const json::value& patch);

// After an error the target is in an unspecified state.
[[nodiscard]] ApiResult<void> json_patch(json::value& target, const json::value& operations);

}  // namespace stowage::local
