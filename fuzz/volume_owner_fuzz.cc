// read_volume_owner: the same result each time; only a claimed volume names a claim.
#include "codec/patches.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  const auto owner = codec::read_volume_owner(input);
  STOWAGE_CHECK(same(owner, codec::read_volume_owner(input)));
  if (!good(owner)) return;
  if (!owner->claimed) STOWAGE_CHECK(owner->claim == codec::ClaimName{});
}

}  // namespace stowage::fuzz
