// How many pods of each label set each node has; a node lists only sets that have pods on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/affinity/label_sets.h"
#include "core/model/ids.h"

namespace stowage::core {

struct SetCount {
  LabelSetIndex set;
  std::int32_t pods = 0;
  std::int32_t leaving = 0;  // of these
};

class NodePodCounts {
 public:
  void add(NodeIndex node, const SetCount& delta);
  [[nodiscard]] std::span<const SetCount> on(std::size_t node) const {
    return node < by_node_.size() ? std::span<const SetCount>(by_node_[node])
                                  : std::span<const SetCount>();
  }
  // on() is empty for every node from this number on.
  [[nodiscard]] std::size_t rows() const { return by_node_.size(); }

 private:
  std::vector<std::vector<SetCount>> by_node_;
};

}  // namespace stowage::core
