#include "core/engine/loads.h"

#include <algorithm>

namespace stowage::core {
namespace {

// Measurements are rounded to this step, so that small changes do not count.
constexpr std::int32_t kStep = 25;

}  // namespace

void Loads::measured(const CardsMeasured& event) {
  Node& node = nodes_[event.node];
  node.measured.clear();
  for (const auto& [card, permille] : event.busy) {
    const std::int32_t bounded = std::clamp(permille, 0, kMilliPerCard);
    node.measured[card] = (bounded + kStep / 2) / kStep * kStep;
  }
  due_.erase({node.until, event.node});
  node.until = event.until;
  due_.emplace(event.until, event.node);
  for (const Expected& expected : node.expected) due_.emplace(expected.until, event.node);
}

void Loads::placed(const std::string& node, const std::string& card, std::int32_t milli,
                   base::Instant until) {
  nodes_[node].expected.push_back({card, milli, until});
  due_.emplace(until, node);
}

void Loads::forget(const std::string& node) { nodes_.erase(node); }

std::vector<std::string> Loads::expire(base::Instant now) {
  std::set<std::string> changed;
  while (!due_.empty() && due_.begin()->first <= now) {
    const auto found = nodes_.find(due_.begin()->second);
    due_.erase(due_.begin());
    if (found == nodes_.end()) continue;
    Node& node = found->second;
    if (node.until <= now) node.measured.clear();
    std::erase_if(node.expected, [&](const Expected& each) { return each.until <= now; });
    changed.insert(found->first);
    if (node.measured.empty() && node.expected.empty()) nodes_.erase(found);
  }
  return {changed.begin(), changed.end()};
}

std::vector<std::uint16_t> Loads::busy(const NodeSpec& spec) const {
  const auto found = nodes_.find(spec.name);
  if (found == nodes_.end() || found->second.measured.empty()) return {};
  const Node& node = found->second;
  std::vector<std::uint16_t> busy(spec.cards.size(), kNoLoad);
  for (std::size_t i = 0; i < spec.cards.size(); ++i) {
    const auto measured = node.measured.find(spec.cards[i].id);
    if (measured == node.measured.end()) continue;
    std::int32_t sum = measured->second;
    for (const Expected& expected : node.expected) {
      if (expected.card == spec.cards[i].id) sum += expected.milli;
    }
    busy[i] = static_cast<std::uint16_t>(std::min(sum, kMilliPerCard));
  }
  return busy;
}

std::vector<std::string> Loads::nodes() const {
  std::vector<std::string> names;
  names.reserve(nodes_.size());
  for (const auto& [name, node] : nodes_) names.push_back(name);
  return names;
}

}  // namespace stowage::core
