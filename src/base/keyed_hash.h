// SipHash-2-4: a hash of 64 bits under a key. Who does not know the key cannot find two texts with
// the same hash, so it may stand for a text that somebody else would like to exchange.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace stowage::base {

using HashKey = std::array<std::uint64_t, 2>;

[[nodiscard]] HashKey random_hash_key();
[[nodiscard]] std::uint64_t keyed_hash(const HashKey& key, std::string_view text);

}  // namespace stowage::base
