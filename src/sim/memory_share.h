// Adds GPU memory to a trace without it, to test policies with two dimensions.
#pragma once

#include <cstdint>

#include "sim/trace.h"

namespace stowage::sim {

enum class MemoryShare : std::uint8_t {
  none,
  follows_milli,     // "A": memory follows compute, with noise
  some_memory_only,  // "B": the same, and 30 % of the share pods request only memory
};

// Every card gets 32000 MiB. A pod with a share of a card also requests memory: its compute
// fraction times 0.7, 0.85, 1, 1.15 or 1.3, drawn with the seed, and at most the whole card. Other
// pods are unchanged.
void add_memory(Trace& trace, MemoryShare share, std::uint64_t seed);

}  // namespace stowage::sim
