#include "core/ledger/node_classes.h"

#include <algorithm>
#include <utility>

namespace stowage::core {
namespace {

// Equal machines differ slightly in allocatable resources; such differences make no new class.
constexpr std::int64_t kClassCpuMilli = 500;
constexpr std::int64_t kClassMemoryBytes = std::int64_t{4} << 30U;

}  // namespace

NodeClass node_class(const NodeSpec& spec, std::span<const CardState> cards) {
  NodeClass key;
  const auto& all = spec.allocatable;
  key.cpu_milli = all.cpu_milli - all.cpu_milli % kClassCpuMilli;
  key.memory_bytes = all.memory_bytes - all.memory_bytes % kClassMemoryBytes;
  for (const CardState& card : cards) key.models.push_back(card.model);
  for (const Card& card : spec.cards) key.memory_mib.push_back(card.memory_mib);
  std::sort(key.models.begin(), key.models.end());
  std::sort(key.memory_mib.begin(), key.memory_mib.end());
  return key;
}

std::uint16_t NodeClasses::take(NodeClass key) {
  auto entry = numbers_.find(key);
  if (entry == numbers_.end() && all_.size() < kMost) {
    entry = numbers_.emplace(key, static_cast<std::uint16_t>(all_.size())).first;
    all_.push_back(std::move(key));
    nodes_.push_back(0);
  } else if (entry == numbers_.end()) {
    const auto unused = std::find(nodes_.begin(), nodes_.end(), 0U);
    if (unused != nodes_.end()) {
      const auto at = static_cast<std::uint16_t>(unused - nodes_.begin());
      numbers_.erase(all_[at]);
      entry = numbers_.emplace(key, at).first;
      all_[at] = std::move(key);
    }
  }
  const auto number =
      entry == numbers_.end() ? static_cast<std::uint16_t>(kMost - 1) : entry->second;
  ++nodes_[number];
  return number;
}

}  // namespace stowage::core
