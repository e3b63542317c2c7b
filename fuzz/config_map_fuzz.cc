// A ConfigMap: reading it twice gives the same.
#include "codec/config_map.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  codec::JsonText parser;
  const auto first = codec::read_config_map(parser, input);
  (void)good(first);
  STOWAGE_CHECK(same(first, codec::read_config_map(parser, input)));
}

}  // namespace stowage::fuzz
