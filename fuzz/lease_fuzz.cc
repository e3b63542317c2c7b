// read_lease: a lease that was read, then written, has the same holder, term and numbers.
#include "codec/lease.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  const auto lease = codec::read_lease(input);
  if (!good(lease)) return;
  const auto again =
      codec::read_lease(codec::lease_patch({.resource_version = lease->resource_version,
                                            .holder = lease->holder,
                                            .seconds = lease->seconds,
                                            .transitions = lease->transitions,
                                            .annotations = lease->annotations}));
  STOWAGE_CHECK(again && again->holder == lease->holder && again->seconds == lease->seconds);
  STOWAGE_CHECK(again->transitions == lease->transitions);
  STOWAGE_CHECK(again->annotations == lease->annotations);
}

}  // namespace stowage::fuzz
