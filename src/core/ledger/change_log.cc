#include "core/ledger/change_log.h"

namespace stowage::core {

void ChangeLog::append(NodeIndex node, std::size_t nodes) {
  if (log_.size() > 4 * nodes + 4096) {
    const auto half = log_.size() / 2;
    log_.erase(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(half));
    start_ += half;
  }
  log_.push_back(node);
}

std::optional<std::span<const NodeIndex>> ChangeLog::since(std::uint64_t from) const {
  if (from < start_) return std::nullopt;
  const auto skip = static_cast<std::size_t>(from - start_);
  return std::span<const NodeIndex>(log_).subspan(skip);
}

}  // namespace stowage::core
