#include "core/model/resources.h"

#include <algorithm>

namespace stowage::core {

Resources plus(const Resources& a, const Resources& b) {
  Resources sum = a;
  sum.cpu_milli += b.cpu_milli;
  sum.memory_bytes += b.memory_bytes;
  sum.ephemeral_bytes += b.ephemeral_bytes;
  sum.pods += b.pods;
  for (const auto& [name, amount] : b.extended) sum.extended[name] += amount;
  return sum;
}

Resources largest(const Resources& a, const Resources& b) {
  Resources most = a;
  most.cpu_milli = std::max(a.cpu_milli, b.cpu_milli);
  most.memory_bytes = std::max(a.memory_bytes, b.memory_bytes);
  most.ephemeral_bytes = std::max(a.ephemeral_bytes, b.ephemeral_bytes);
  most.pods = std::max(a.pods, b.pods);
  for (const auto& [name, amount] : b.extended) {
    auto& slot = most.extended[name];
    slot = std::max(slot, amount);
  }
  return most;
}

}  // namespace stowage::core
