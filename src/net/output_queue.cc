#include "net/output_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace stowage::net {
namespace {

constexpr std::size_t kJoinMax = 1024;

}  // namespace

void OutputQueue::push(std::string bytes) {
  if (bytes.empty()) return;
  // The framing of adjacent chunks becomes one segment.
  if (!segments_.empty() && !segments_.back().shared &&
      segments_.back().owned.size() + bytes.size() <= kJoinMax) {
    segments_.back().owned += bytes;
    return;
  }
  segments_.push_back({std::move(bytes), nullptr});
}

void OutputQueue::push_payload(std::shared_ptr<const std::string> bytes) {
  if (!bytes || bytes->empty()) return;
  payload_ += bytes->size();
  segments_.push_back({{}, std::move(bytes)});
}

std::size_t OutputQueue::gather(std::span<std::string_view> pieces) const {
  const std::size_t count = std::min(pieces.size(), segments_.size());
  for (std::size_t i = 0; i < count; ++i) pieces[i] = segments_[i].view();
  if (count != 0) pieces[0].remove_prefix(offset_);
  return count;
}

void OutputQueue::consume(std::size_t count) {
  while (count != 0) {
    STOWAGE_CHECK(!segments_.empty());
    const Segment& first = segments_.front();
    const std::size_t left = first.view().size() - offset_;
    const std::size_t taken = std::min(left, count);
    if (first.shared) payload_ -= taken;
    count -= taken;
    offset_ += taken;
    if (taken == left) {
      segments_.pop_front();
      offset_ = 0;
    }
  }
}

void OutputQueue::clear() {
  segments_.clear();
  offset_ = 0;
  payload_ = 0;
}

}  // namespace stowage::net
