#include <cstddef>
#include <cstdint>

#include "fuzz/fuzz.h"

// The name and the types are the fuzzing engine's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stowage::fuzz::one({reinterpret_cast<const char*>(data), size});
  return 0;
}
