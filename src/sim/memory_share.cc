#include "sim/memory_share.h"

#include <algorithm>
#include <array>

#include "base/rng.h"

namespace stowage::sim {
namespace {

constexpr std::int32_t kCardMib = 32'000;
constexpr std::array<std::int32_t, 5> kPercents{70, 85, 100, 115, 130};
constexpr std::uint64_t kMemoryOnlyPercent = 30;
// Keeps these draws apart from the other streams that start from the same seed.
constexpr std::uint64_t kStream = 0x6d656d6f7279;

}  // namespace

void add_memory(Trace& trace, MemoryShare share, std::uint64_t seed) {
  if (share == MemoryShare::none) return;
  for (TraceNode& node : trace.nodes) node.gpu_memory_mib = kCardMib;
  base::Rng rng(seed ^ kStream);
  for (TracePod& pod : trace.pods) {
    if (pod.num_gpu == 0 || pod.gpu_milli == core::kMilliPerCard) continue;
    const std::int32_t percent = kPercents[rng.below(kPercents.size())];
    const bool memory_only = rng.below(100) < kMemoryOnlyPercent;
    const std::int32_t mib = pod.gpu_milli * (kCardMib / core::kMilliPerCard) * percent / 100;
    pod.gpu_memory_mib = std::clamp(mib, 1, kCardMib);
    if (share == MemoryShare::some_memory_only && memory_only) pod.gpu_milli = 0;
  }
}

}  // namespace stowage::sim
