#include "core/affinity/node_pod_counts.h"

#include <algorithm>

namespace stowage::core {

void NodePodCounts::add(NodeIndex node, const SetCount& delta) {
  if (by_node_.size() <= node.at()) by_node_.resize(node.at() + 1);
  auto& here = by_node_[node.at()];
  auto at = std::find_if(here.begin(), here.end(),
                         [&](const SetCount& count) { return count.set == delta.set; });
  if (at == here.end()) at = here.insert(here.end(), SetCount{.set = delta.set});
  at->pods += delta.pods;
  at->leaving += delta.leaving;
  if (at->pods == 0) here.erase(at);
}

}  // namespace stowage::core
