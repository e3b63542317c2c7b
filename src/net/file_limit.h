// How many files, sockets among them, the process may have open.
#pragma once

#include <cstddef>

namespace stowage::net {

// As many as the system lets the process have without asking anybody, up to a sane number. To be
// called once, by a program that serves.
void raise_file_limit();
[[nodiscard]] std::size_t file_limit();

}  // namespace stowage::net
