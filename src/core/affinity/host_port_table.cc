#include "core/affinity/host_port_table.h"

#include <algorithm>

namespace stowage::core {
namespace {

bool addresses_overlap(const std::string& a, const std::string& b) {
  const auto every = [](const std::string& ip) { return ip.empty() || ip == "0.0.0.0"; };
  return every(a) || every(b) || a == b;
}

}  // namespace

void HostPortTable::add(PodIndex pod, NodeIndex node, std::span<const HostPort> ports) {
  if (ports.empty()) return;
  if (by_node_.size() <= node.at()) by_node_.resize(node.at() + 1);
  auto& used = by_node_[node.at()];
  for (const HostPort& port : ports) {
    used.push_back({.port = port.port, .protocol = port.protocol, .ip = port.ip, .pod = pod});
  }
  std::stable_sort(used.begin(), used.end(),
                   [](const Use& a, const Use& b) { return a.port < b.port; });
}

void HostPortTable::remove(PodIndex pod, NodeIndex node) {
  if (node.at() >= by_node_.size()) return;
  std::erase_if(by_node_[node.at()], [&](const Use& use) { return use.pod == pod; });
}

bool HostPortTable::conflicts(NodeIndex node, const std::vector<HostPort>& ports,
                              const std::set<PodIndex>* ignored) const {
  if (ports.empty() || node.at() >= by_node_.size()) return false;
  const auto& used = by_node_[node.at()];
  return std::any_of(ports.begin(), ports.end(), [&](const HostPort& port) {
    auto at = std::lower_bound(used.begin(), used.end(), port.port,
                               [](const Use& use, std::int32_t p) { return use.port < p; });
    for (; at != used.end() && at->port == port.port; ++at) {
      if (ignored != nullptr && ignored->contains(at->pod)) continue;
      if (at->protocol == port.protocol && addresses_overlap(at->ip, port.ip)) return true;
    }
    return false;
  });
}

}  // namespace stowage::core
