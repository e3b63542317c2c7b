// Answers of an extender to filter and prioritize: reading them twice gives the same.
#include "codec/extender.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  codec::ExtenderDecoder decoder;
  const auto filter = decoder.filter_answer(input);
  if (good(filter) && filter->nodes) {
    for (const codec::RawNode& node : *filter->nodes) STOWAGE_CHECK(inside(node.json, input));
  }
  const auto again = decoder.filter_answer(input);
  STOWAGE_CHECK(filter.has_value() == again.has_value());
  if (filter) {
    STOWAGE_CHECK(filter->failed == again->failed);
    STOWAGE_CHECK(filter->unresolvable == again->unresolvable);
    STOWAGE_CHECK(filter->node_names == again->node_names);
  }
  const auto scores = decoder.priorities(input);
  (void)good(scores);
  STOWAGE_CHECK(same(scores, decoder.priorities(input)));
}

}  // namespace stowage::fuzz
