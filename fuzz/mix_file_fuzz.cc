// parse_mix: plausible groups of nodes, or an error with the file's name.
#include <string>

#include "fuzz/fuzz.h"
#include "local/fleet/mix_file.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  const auto groups = local::parse_mix("f", std::string(input));
  if (!groups) STOWAGE_CHECK(groups.error().message.starts_with("f"));
  (void)good(groups);
}

}  // namespace stowage::fuzz
