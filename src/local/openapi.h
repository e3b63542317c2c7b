// OpenAPI version 3, made from the schema: enough for kubectl to leave validation to the server, to
// compute patches, and to explain fields (without descriptions).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "local/schema.h"

namespace stowage::local {

[[nodiscard]] std::string openapi_index();
// The document of "api/v1" or "apis/<group>/v1"; unset if none exists.
[[nodiscard]] std::optional<std::string> openapi_document(const Schema& schema,
                                                          std::string_view group_path);

}  // namespace stowage::local
