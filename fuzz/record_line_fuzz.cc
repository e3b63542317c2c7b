// A line of the device plugin's records: read as the same when written again. The checksum is put
// before the input, because no search would find it.
#include <string>

#include "fuzz/fuzz.h"
#include "plugin/record.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  (void)good(plugin::parse_record_line(input));
  const auto read = plugin::parse_record_line(plugin::record_line(input));
  if (!good(read)) return;
  const auto again = plugin::parse_record_line(plugin::to_line(*read));
  STOWAGE_CHECK(good(again) && *again == *read);
}

}  // namespace stowage::fuzz
