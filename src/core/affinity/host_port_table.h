// The host ports that pods use on each node: tells whether a pod's ports are free there.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/model/ids.h"
#include "core/model/pod_constraints.h"

namespace stowage::core {

class HostPortTable {
 public:
  void add(PodIndex pod, NodeIndex node, std::span<const HostPort> ports);
  // Frees all ports of the pod on the node.
  void remove(PodIndex pod, NodeIndex node);

  // Does another pod on the node use one of these ports, with the same protocol and an address in
  // common? Pods in `ignored` do not count.
  [[nodiscard]] bool conflicts(NodeIndex node, const std::vector<HostPort>& ports,
                               const std::set<PodIndex>* ignored = nullptr) const;

 private:
  struct Use {
    std::int32_t port = 0;
    std::string protocol;
    std::string ip;
    PodIndex pod;
  };
  std::vector<std::vector<Use>> by_node_;  // sorted by port
};

}  // namespace stowage::core
