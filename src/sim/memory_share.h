// Gives a trace without GPU memory a second dimension, to see how policies cope with one.
#pragma once

#include <cstdint>

#include "sim/trace.h"

namespace stowage::sim {

enum class MemoryShare : std::uint8_t {
  none,
  follows_milli,     // "A": memory follows compute, with noise
  some_memory_only,  // "B": the same, and 30 % of the share pods ask for memory and nothing else
};

// Every card gets 32000 MiB. A pod that asks for a share of a card also asks for memory: its part
// of the compute times 0.7, 0.85, 1, 1.15 or 1.3, one of them drawn with the seed, at most the
// whole card. Pods with whole cards and without cards stay as they are.
void add_memory(Trace& trace, MemoryShare share, std::uint64_t seed);

}  // namespace stowage::sim
