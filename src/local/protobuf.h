// Reads the protobuf form of objects that typed clients send: the envelope "k8s\0" with the name of
// the kind, and the message, which the schema describes. Answers are always JSON.
#pragma once

#include <string_view>

#include "local/api_error.h"
#include "local/json.h"
#include "local/schema.h"

namespace stowage::local {

[[nodiscard]] bool is_protobuf(std::string_view body);
// The object with apiVersion and kind, as in its JSON form. UnsupportedMediaType for a kind without
// a schema, BadRequest for a broken message.
[[nodiscard]] ApiResult<json::object> from_protobuf(const Schema& schema, std::string_view body);

}  // namespace stowage::local
