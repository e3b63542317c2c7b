// How much memory the program holds, for tests that look for what stays behind.
#pragma once

#include <cstddef>
#include <malloc.h>

namespace stowage::net::testing {

// Bytes that were taken from the heap and not given back. 0 under a sanitizer, which has a heap of
// its own: bounds hold of nothing then.
[[nodiscard]] inline std::size_t heap_bytes() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace stowage::net::testing
