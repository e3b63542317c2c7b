// SipHash-2-4: a keyed 64-bit hash. Without the key, an attacker cannot find two texts with the
// same hash, so the hash can represent an untrusted text.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace stowage::base {

using HashKey = std::array<std::uint64_t, 2>;

[[nodiscard]] HashKey random_hash_key();
[[nodiscard]] std::uint64_t keyed_hash(const HashKey& key, std::string_view text);

}  // namespace stowage::base
