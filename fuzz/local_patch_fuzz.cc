// Patches of the local API server: two JSON texts, a line each, the object and the patch. The
// result is an error, or an object within the depth limit that can be read again.
#include <algorithm>
#include <cmath>
#include <string>

#include "fuzz/fuzz.h"
#include "local/json.h"
#include "local/patch.h"
#include "local/schema.h"
#include "local/strategic_patch.h"

namespace stowage::fuzz {
namespace {

using local::json::value;

// The parser is not exact in the last digits of numbers that are not integers.
bool alike(const value& a, const value& b) {
  if (a.is_double() && b.is_double()) {
    const double x = a.get_double();
    const double y = b.get_double();
    return x == y || std::abs(x - y) <= 1e-12 * std::max(std::abs(x), std::abs(y));
  }
  if (a.is_array() && b.is_array()) {
    return std::equal(a.get_array().begin(), a.get_array().end(), b.get_array().begin(),
                      b.get_array().end(), alike);
  }
  if (a.is_object() && b.is_object()) {
    return a.get_object().size() == b.get_object().size() &&
           std::all_of(a.get_object().begin(), a.get_object().end(), [&](const auto& field) {
             const value* other = b.get_object().if_contains(field.key());
             return other != nullptr && alike(field.value(), *other);
           });
  }
  return a == b;
}

void check(const value& made) {
  std::string text;
  local::append_json(text, made);
  const auto again = local::parse_json(text);
  STOWAGE_CHECK(again && alike(*again, made));
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
