// SHA-256, for keys of caches whose texts come from outside: they are long, or secret.
#pragma once

#include <string>
#include <string_view>

namespace stowage::net {

// 32 bytes. Texts that differ have digests that differ, for all that anybody can do.
[[nodiscard]] std::string sha256(std::string_view text);

}  // namespace stowage::net
