// Patches of the local API server: two JSON texts, a line each, the object and the patch. What
// comes out is refused, or is as deep as objects may be and can be read again.
#include <string>

#include "fuzz/fuzz.h"
#include "local/json.h"
#include "local/patch.h"
#include "local/schema.h"
#include "local/strategic_patch.h"

namespace stowage::fuzz {
namespace {

void check(const local::json::value& value) {
  std::string text;
  local::append_json(text, value);
  const auto again = local::parse_json(text);
  STOWAGE_CHECK(again && *again == value);
}

}  // namespace

void one(std::string_view input) {
  const std::size_t end = input.find('\n');
  if (end == std::string_view::npos) return;
  const auto target = local::parse_json(input.substr(0, end));
  const auto patch = local::parse_json(input.substr(end + 1));
  if (!good(target) || !good(patch)) return;
  local::json::value merged = *target;
  local::merge_patch(merged, *patch);
  check(merged);
  local::json::value patched = *target;
  if (local::json_patch(patched, *patch)) check(patched);
  if (!target->is_object() || !patch->is_object()) return;
  static const local::Schema schema;
  local::json::object strategic = target->get_object();
  const auto done =
      local::strategic_patch(strategic, patch->get_object(), schema.of(local::Kind::pod));
  if (done) check(strategic);
}

}  // namespace stowage::fuzz
