// The names that nodes bring along, and what pods are charged by them.
#include <algorithm>
#include <set>

#include "core/ledger/ledger.h"

namespace stowage::core {
namespace {

// A pod that asks for more names than that keeps only those that some node offers: the others
// count when the pod is seen again after a node has offered them.
constexpr std::size_t kNamesKept = 16;

}  // namespace

std::uint32_t Ledger::offer_bit(const std::string& name) {
  constexpr std::uint32_t kLastBit = 31;
  std::uint32_t number = kLastBit;
  if (borrowed_ != nullptr) {
    const auto found = borrowed_->offers.find(name);
    if (found != borrowed_->offers.end()) number = found->second;
  } else if (tables_.offers.size() <= kLastBit || tables_.offers.contains(name)) {
    const auto next = static_cast<std::uint32_t>(tables_.offers.size() + 1);
    number = tables_.offers.emplace(name, next).first->second;
  }
  return std::uint32_t{1} << std::min(number, kLastBit);
}

std::int64_t Ledger::extended_free(NodeIndex node, std::uint32_t resource) const {
  const auto& slot = nodes_[node.at()];
  const auto at = [resource](const std::vector<std::int64_t>& v) {
    return resource < v.size() ? v[resource] : 0;
  };
  return std::max<std::int64_t>(0, at(slot.extended_capacity) - at(slot.use.extended));
}

void Ledger::give_names_back(NodeIndex node) {
  if (borrowed_ != nullptr || !nodes_[node.at()].present) return;
  for (const CardState& card : cards(node)) {
    tables_.models.give_back(card.model);
    memory_sizes_.give_back(card.memory_class);
  }
}

void Ledger::offer_resources(const NodeSpec& spec, NodeSlot& slot) {
  std::vector<std::string> fresh;
  slot.extended_capacity.clear();
  for (const auto& [name, amount] : spec.allocatable.extended) {
    if (borrowed_ == nullptr && tables_.resources.offer(name)) fresh.push_back(name);
    const std::uint32_t number = resource_number(name);
    if (slot.extended_capacity.size() <= number) slot.extended_capacity.resize(number + 1);
    slot.extended_capacity[number] = amount;
  }
  if (!fresh.empty()) charge_new_resources(fresh);
}

// Pods may have asked for them before any node offered them.
void Ledger::charge_new_resources(const std::vector<std::string>& names) {
  const std::set<std::string_view> fresh(names.begin(), names.end());
  for (NodeSlot& slot : nodes_) {
    for (const PodIndex pod : slot.pods) {
      for (const auto& [name, amount] : pods_[pod.at()].resources.extended) {
        if (!fresh.contains(name)) continue;
        const std::uint32_t number = resource_number(name);
        if (slot.use.extended.size() <= number) slot.use.extended.resize(number + 1);
        slot.use.extended[number] += amount;
      }
    }
  }
}

// A number that is free now may be given to another name: nobody is charged by it any more.
void Ledger::withdraw_resources(const NodeSpec& spec) {
  if (borrowed_ != nullptr) return;
  for (const auto& [name, amount] : spec.allocatable.extended) {
    const std::uint32_t number = tables_.resources.withdraw(name);
    if (number == ResourceNames::kNone) continue;
    for (NodeSlot& slot : nodes_) {
      if (number < slot.use.extended.size()) slot.use.extended[number] = 0;
    }
  }
}

Resources Ledger::kept_resources(const PodSpec& pod) const {
  Resources resources = effective_resources(pod);
  if (resources.extended.size() <= kNamesKept) return resources;
  std::erase_if(resources.extended, [this](const auto& entry) {
    return resource_number(entry.first) == ResourceNames::kNone;
  });
  return resources;
}

}  // namespace stowage::core
