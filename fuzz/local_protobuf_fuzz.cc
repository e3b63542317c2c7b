// from_protobuf: an object that can be written as JSON and read again, or an error with a message.
#include <string>

#include "fuzz/fuzz.h"
#include "local/json.h"
#include "local/protobuf.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  static const local::Schema schema;
  std::string body("k8s\0", 4);
  if (!local::is_protobuf(input)) {
    body += input;
    input = body;
  }
  const auto object = local::from_protobuf(schema, input);
  if (!object) {
    STOWAGE_CHECK(!object.error().message.empty() && object.error().code >= 400);
    return;
  }
  std::string text;
  local::append_json(text, local::json::value(*object));
  const auto again = local::parse_json(text);
  STOWAGE_CHECK(again.has_value());
}

}  // namespace stowage::fuzz
