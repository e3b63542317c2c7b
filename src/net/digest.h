// SHA-256, for cache keys made from untrusted texts, which are long or secret.
#pragma once

#include <string>
#include <string_view>

namespace stowage::net {

// 32 bytes. It is infeasible to find two texts with the same digest.
[[nodiscard]] std::string sha256(std::string_view text);

}  // namespace stowage::net
