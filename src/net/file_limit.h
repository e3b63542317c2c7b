// How many files, including sockets, the process may have open.
#pragma once

#include <cstddef>

namespace stowage::net {

// Raises the soft limit to the hard limit, up to a sane number. A server calls it once.
void raise_file_limit();
[[nodiscard]] std::size_t file_limit();

}  // namespace stowage::net
