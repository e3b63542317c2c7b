// The nodes of a local cluster: turns groups of nodes into Node objects as a kubelet and the device
// plugins of all dialects would publish them. Pure; equal groups give equal nodes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "local/fleet/catalogue.h"
#include "local/json.h"
#include "local/wall_time.h"

namespace stowage::local {

inline constexpr std::int32_t kNodesMax = 10'000;
inline constexpr std::int32_t kCardsPerNodeMax = 64;

struct NodeTaint {
  std::string key;
  std::string value;
  std::string effect;  // NoSchedule, PreferNoSchedule or NoExecute
  friend bool operator==(const NodeTaint&, const NodeTaint&) = default;
};

// Nodes that are alike.
struct NodeGroup {
  std::int32_t count = 1;
  std::string name = "node";  // the nodes are called name-1, name-2, ...
  std::int32_t gpus = 0;
  CardModel model;              // ignored without cards
  std::int64_t cpu = 0;         // cores; 0: by the number of cards
  std::int64_t memory_mib = 0;  // 0: by the number of cards
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<NodeTaint> taints;
  friend bool operator==(const NodeGroup&, const NodeGroup&) = default;
};

// The total number of nodes; an error if there are too many.
[[nodiscard]] Result<std::int32_t> count_nodes(const std::vector<NodeGroup>& groups);

// Nodes of the same name are numbered consecutively over all groups, with as many digits as the
// last one needs. Requires: count_nodes() has a value.
[[nodiscard]] std::vector<json::object> make_nodes(const std::vector<NodeGroup>& groups,
                                                   WallTime now);

// Puts the conditions of a healthy node into its status.
void set_node_ready(json::object& status, WallTime now);

}  // namespace stowage::local
