#include "kube/watch_lines.h"

#include <utility>

namespace stowage::kube {

namespace {

// Buffers of this size are kept for the next line.
constexpr std::size_t kKept = std::size_t{4} << 10U;

void release_if_large(std::string& text) {
  if (text.capacity() > kKept) text = {};
}

}  // namespace

WatchLines::Next WatchLines::next(std::string_view& line) {
  for (;;) {
    const std::size_t end = input_.find('\n');
    const bool whole = end != std::string_view::npos;
    const std::string_view part = input_.substr(0, end);
    input_.remove_prefix(whole ? end + 1 : input_.size());
    if (skipping_) {
      skipping_ = !whole;
      if (skipping_) return Next::need_more;
      continue;
    }
    if (partial_.size() + part.size() > bytes_max_) {
      partial_ = {};
      skipping_ = !whole;
      return Next::too_long;
    }
    if (!whole) {
      partial_ += part;
      return Next::need_more;
    }
    if (partial_.empty()) {
      line = part;
    } else {
      partial_ += part;
      std::swap(finished_, partial_);
      partial_.clear();
      line = finished_;
    }
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!line.empty()) return Next::line;
  }
}

void WatchLines::trim() {
  release_if_large(finished_);
  if (partial_.empty()) release_if_large(partial_);
}

void WatchLines::clear() {
  input_ = {};
  partial_.clear();
  skipping_ = false;
}

}  // namespace stowage::kube
