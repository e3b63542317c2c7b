// Admission reviews. Every answer is one; its patch applies to the pod, and the patched pod needs
// no other patch.
#include <string>

#include "base/base64.h"
#include "dialect/node_resources.h"
#include "fuzz/fuzz.h"
#include "local/json.h"
#include "local/patch.h"
#include "webhook/answer.h"

namespace stowage::fuzz {
namespace {

using local::json::value;

// The field of a nested object; null if it is not there.
value* at(value* object, std::initializer_list<const char*> path) {
  for (const char* name : path) {
    if (object == nullptr || !object->is_object()) return nullptr;
    object = object->get_object().if_contains(name);
  }
  return object;
}

std::string text(const value& tree) {
  std::string out;
  local::append_json(out, tree);
  return out;
}

}  // namespace

void one(std::string_view input) {
  webhook::PodReviewReader reader;
  webhook::Options options{.dialects = dialect::published_dialects(),
                           .void_unrequested = input.size() % 2 == 0};
  if (input.size() % 3 == 0) options.default_scheduler = "stowage";
  const webhook::Answer first = webhook::answer(reader, options, input);
  STOWAGE_CHECK(first.code == (first.verdict == webhook::Verdict::unreadable ? 400 : 200));
  if (first.code != 200) return;
  auto answer = local::parse_json(first.body);
  STOWAGE_CHECK(answer && at(&*answer, {"response", "uid"}) != nullptr);
  if (first.verdict != webhook::Verdict::patched) return;
  auto review = local::parse_json(input);
  if (!review) return;  // this parser limits the depth
  value* pod = at(&*review, {"request", "object"});
  STOWAGE_CHECK(pod != nullptr);
  const value* patch = at(&*answer, {"response", "patch"});
  STOWAGE_CHECK(patch != nullptr && patch->is_string());
  const auto operations = base::base64_decode(std::string(patch->get_string()));
  STOWAGE_CHECK(operations);
  const auto parsed = local::parse_json(*operations);
  STOWAGE_CHECK(parsed && local::json_patch(*pod, *parsed));
  // The writer replaces what is not UTF-8.
  const webhook::Answer second = webhook::answer(reader, options, text(*review));
  STOWAGE_CHECK(second.verdict == webhook::Verdict::allowed);
}

}  // namespace stowage::fuzz
