// Resources that nodes offer besides CPU, memory and cards, and the pods' charges on them.
#include <algorithm>
#include <set>

#include "core/ledger/ledger.h"

namespace stowage::core {
namespace {

// A pod with more resource names than this keeps only those that some node offers. The others count
// once the pod is seen again after a node has offered them.
constexpr std::size_t kNamesKept = 16;

// Charges pods for resources that they requested before any node offered them.
void charge_new_resources(const std::vector<std::string>& names, const ResourceNames& numbers,
                          const PodTable& pods, NodeTable& nodes) {
  const std::set<std::string_view> fresh(names.begin(), names.end());
  for (NodeRecord& node : nodes.records()) {
    for (const PodIndex pod : node.pods) {
      for (const auto& [name, amount] : pods.record(pod).resources.extended) {
        if (!fresh.contains(name)) continue;
        const std::uint32_t number = numbers.find(name);
        if (node.use.extended.size() <= number) node.use.extended.resize(number + 1);
        node.use.extended[number] += amount;
      }
    }
  }
}

}  // namespace

void Ledger::offer_resources(NodeIndex node, const NodeSpec& spec) {
  std::vector<std::int64_t>& capacity = nodes_.record(node).extended_capacity;
  std::vector<std::string> fresh;
  capacity.clear();
  for (const auto& [name, amount] : spec.allocatable.extended) {
    if (names_.offer(name)) fresh.push_back(name);
    const std::uint32_t number = names_.resources().find(name);
    if (capacity.size() <= number) capacity.resize(number + 1);
    capacity[number] = amount;
  }
  if (!fresh.empty()) charge_new_resources(fresh, names_.resources(), pods_, nodes_);
}

// A freed number may be given to another name, so all charges on it are cleared.
void Ledger::withdraw_resources(const NodeSpec& spec) {
  for (const auto& [name, amount] : spec.allocatable.extended) {
    const std::uint32_t number = names_.withdraw(name);
    if (number == ResourceNames::kNone) continue;
    for (NodeRecord& node : nodes_.records()) {
      if (number < node.use.extended.size()) node.use.extended[number] = 0;
    }
  }
}

Resources kept_resources(const PodSpec& pod, const ResourceNames& names) {
  Resources resources = effective_resources(pod);
  if (resources.extended.size() <= kNamesKept) return resources;
  std::erase_if(resources.extended,
                [&](const auto& entry) { return names.find(entry.first) == ResourceNames::kNone; });
  return resources;
}

}  // namespace stowage::core
