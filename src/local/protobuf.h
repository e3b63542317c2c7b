// Reads the protobuf form in which typed clients send objects: the envelope "k8s\0" with the kind's
// name, and the kind's message, which the schema describes. Only reading: answers are JSON.
#pragma once

#include <string_view>

#include "local/api_error.h"
#include "local/json.h"
#include "local/schema.h"

namespace stowage::local {

[[nodiscard]] bool is_protobuf(std::string_view body);
// The object with apiVersion and kind, as its JSON form would be. UnsupportedMediaType for a kind
// without a schema, BadRequest for a broken message.
[[nodiscard]] ApiResult<json::object> from_protobuf(const Schema& schema, std::string_view body);

}  // namespace stowage::local
