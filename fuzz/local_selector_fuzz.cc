// Selectors of labels and fields: a selector that was read, then written, is read as the same,
// except for the order.
#include <string>

#include "fuzz/fuzz.h"
#include "local/selectors.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  const auto fields = local::parse_field_selector(local::resource_of(local::Kind::pod), input);
  if (!fields) STOWAGE_CHECK(!fields.error().message.empty());
  const auto labels = local::parse_label_selector(input);
  if (!labels) return STOWAGE_CHECK(!labels.error().message.empty());
  (void)labels->matches({{"a", "1"}, {"b", "2"}});
  if (labels->all.empty()) return;
  const std::string text = local::selector_text(*labels);
  const auto again = local::parse_label_selector(text);
  STOWAGE_CHECK(again && local::selector_text(*again) == text);
}

}  // namespace stowage::fuzz
