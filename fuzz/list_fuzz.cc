// Decoder::list: the items are objects inside the text, in order, and a list of them is the same
// list.
#include <string>

#include "base/testing/json_check.h"
#include "codec/kubernetes.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  codec::Decoder decoder;
  const auto page = decoder.list(input);
  if (!good(page)) return;
  STOWAGE_CHECK(page->items.size() <= input.size());
  std::string text = R"({"items":[)";
  const char* after = input.data();
  for (const std::string_view item : page->items) {
    STOWAGE_CHECK(inside(item, input) && item.data() >= after);
    STOWAGE_CHECK(item.starts_with('{') && item.ends_with('}'));
    after = item.data() + item.size();
    if (text.back() != '[') text += ',';
    text += item;
  }
  text += "]}";
  // Skipped parts of an item need not be valid JSON.
  if (!base::JsonCheck::valid(input)) return;
  const auto again = decoder.list(text);
  STOWAGE_CHECK(again && again->items == page->items);
}

}  // namespace stowage::fuzz
