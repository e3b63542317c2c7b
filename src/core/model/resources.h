// Resources besides cards that a node offers and a pod requests: CPU, memory, ephemeral storage,
// number of pods, and extended resources by name. Exact integers.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace stowage::core {

struct Resources {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t ephemeral_bytes = 0;
  std::int64_t pods = 0;
  std::map<std::string, std::int64_t> extended;

  friend bool operator==(const Resources&, const Resources&) = default;
};

// Dimension-wise sum and maximum. A missing extended resource counts as zero.
[[nodiscard]] Resources plus(const Resources& a, const Resources& b);
[[nodiscard]] Resources largest(const Resources& a, const Resources& b);

}  // namespace stowage::core
