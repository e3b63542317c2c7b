#include "core/model/resources.h"

#include <algorithm>

namespace stowage::core {

void Resources::add(const Resources& more) {
  cpu_milli += more.cpu_milli;
  memory_bytes += more.memory_bytes;
  ephemeral_bytes += more.ephemeral_bytes;
  pods += more.pods;
  for (const auto& [name, amount] : more.extended) extended[name] += amount;
}

void Resources::raise_to(const Resources& other) {
  cpu_milli = std::max(cpu_milli, other.cpu_milli);
  memory_bytes = std::max(memory_bytes, other.memory_bytes);
  ephemeral_bytes = std::max(ephemeral_bytes, other.ephemeral_bytes);
  pods = std::max(pods, other.pods);
  for (const auto& [name, amount] : other.extended) {
    auto& slot = extended[name];
    slot = std::max(slot, amount);
  }
}

}  // namespace stowage::core
