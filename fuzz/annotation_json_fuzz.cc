// parse_json of the dialects: stays within its limits, and a value that was read, then written, is
// read as the same.
#include "base/json_writer.h"
#include "dialect/json.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {
namespace {

using dialect::Json;

void write(base::JsonWriter& out, const Json& json, int depth) {
  STOWAGE_CHECK(depth <= dialect::kMaxJsonDepth);
  switch (json.kind) {
    case Json::Kind::null: out.null(); return;
    case Json::Kind::boolean: out.boolean(json.truth); return;
    case Json::Kind::number: out.raw(json.text); return;
    case Json::Kind::string: out.value(json.text); return;
    case Json::Kind::array:
      out.begin_array();
      for (const Json& element : json.elements) write(out, element, depth + 1);
      out.end_array();
      return;
    case Json::Kind::object:
      STOWAGE_CHECK(json.keys.size() == json.elements.size());
      out.begin_object();
      for (std::size_t i = 0; i < json.keys.size(); ++i) {
        write(out.key(json.keys[i]), json.elements[i], depth + 1);
      }
      out.end_object();
  }
}

}  // namespace

void one(std::string_view input) {
  const auto json = dialect::parse_json(input);
  if (!good(json)) return;
  base::JsonWriter out(base::JsonWriter::Style::compact);
  write(out, *json, 0);
  const auto again = dialect::parse_json(out.take());
  STOWAGE_CHECK(again && *again == *json);
}

}  // namespace stowage::fuzz
