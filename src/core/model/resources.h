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

  // Dimension by dimension. A missing extended resource counts as zero.
  void add(const Resources& more);
  void raise_to(const Resources& other);

  friend bool operator==(const Resources&, const Resources&) = default;
};

}  // namespace stowage::core
