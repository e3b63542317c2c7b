#include "core/explain/topology_note.h"

#include <vector>

#include <fmt/format.h>

#include "core/place/topology.h"

namespace stowage::core {
namespace {

// In the order of link_shortfall().
const char* link_words(unsigned shortfall) {
  switch (shortfall) {
    case 1: return "connected by a PCIe switch, not NVLink";
    case 2: return "in one NUMA node, but not NVLink";
    case 3: return "connected by slower links, not NVLink";
    case 4: return "spanning multiple components, not NVLink";
    default: return nullptr;
  }
}

const char* numa_words(unsigned shortfall) {
  switch (shortfall) {
    case 1: return "in several NUMA nodes";
    case 2: return "of unknown NUMA node";
    default: return nullptr;
  }
}

}  // namespace

std::string topology_note(const PodSpec& pod, const NodeSpec& node, const Assignment& cards) {
  std::vector<std::int32_t> numa;
  numa.reserve(node.cards.size());
  for (const auto& card : node.cards) numa.push_back(card.numa);
  std::string note;
  for (std::size_t i = 0; i < pod.containers.size() && i < cards.containers.size(); ++i) {
    const Topology wish = pod.containers[i].gpu.topology;
    CardMask mask = 0;
    for (const auto& share : cards.containers[i]) mask |= card_bit(share.card);
    if (mask == 0 || (mask & (mask - 1)) == 0) continue;  // a single card needs no link
    const bool by_link = wish == Topology::link || wish == Topology::link_strict;
    const bool by_numa = wish == Topology::numa || wish == Topology::numa_strict;
    const char* words = by_link   ? link_words(link_shortfall(node.links, numa, mask))
                        : by_numa ? numa_words(numa_shortfall(numa, mask))
                                  : nullptr;
    if (words == nullptr) continue;
    note += fmt::format("{}{} topology downgraded: the cards of container {} are {}",
                        note.empty() ? "" : "; ", by_link ? "link" : "NUMA", pod.containers[i].name,
                        words);
  }
  return note;
}

}  // namespace stowage::core
