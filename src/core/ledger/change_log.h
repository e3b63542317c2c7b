// Which nodes changed, oldest first. Readers keep a position and ask for the changes since. The log
// drops its older half from time to time; a reader that is too far behind must start over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/model/ids.h"

namespace stowage::core {

class ChangeLog {
 public:
  // `nodes`: the number of nodes. At least twice as many changes are kept.
  void append(NodeIndex node, std::size_t nodes);

  // Nodes that changed since position `from`, oldest first; unset if that part was dropped.
  [[nodiscard]] std::optional<std::span<const NodeIndex>> since(std::uint64_t from) const;
  // The position after the last change.
  [[nodiscard]] std::uint64_t count() const { return start_ + log_.size(); }

 private:
  std::vector<NodeIndex> log_;
  std::uint64_t start_ = 0;  // position of its first entry
};

}  // namespace stowage::core
