// How much memory the program holds, for tests that look for leaks.
#pragma once

#include <cstddef>
#include <malloc.h>

namespace stowage::net::testing {

// Allocated bytes of the heap. 0 under a sanitizer, which has its own heap: limits are not tested
// then.
[[nodiscard]] inline std::size_t heap_bytes() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace stowage::net::testing
