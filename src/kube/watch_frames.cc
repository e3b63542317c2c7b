#include "kube/watch_frames.h"

#include <algorithm>
#include <utility>

namespace stowage::kube {
namespace {

constexpr std::size_t kHead = 4;

std::uint64_t length_of(std::string_view head) {
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kHead; ++i) {
    length = length << 8U | static_cast<unsigned char>(head[i]);
  }
  return length;
}

}  // namespace

WatchFrames::Next WatchFrames::next(std::string_view& frame) {
  const auto take = [this](std::uint64_t bytes) {
    const auto part =
        input_.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(bytes, input_.size())));
    input_.remove_prefix(part.size());
    return part;
  };
  skipping_ -= take(skipping_).size();
  // A complete frame is not copied.
  const bool apart = !partial_.empty() || input_.size() < kHead;
  if (apart && partial_.size() < kHead) partial_ += take(kHead - partial_.size());
  const std::string_view head = apart ? std::string_view(partial_) : input_;
  if (head.size() < kHead) return Next::need_more;
  const std::uint64_t length = length_of(head);
  if (length > bytes_max_) {
    if (!apart) input_.remove_prefix(kHead);
    partial_ = {};
    skipping_ = length;
    return Next::too_long;
  }
  if (!apart && input_.size() - kHead >= length) {
    input_.remove_prefix(kHead);
    frame = take(length);
    return Next::frame;
  }
  partial_ += take(kHead + length - partial_.size());
  if (partial_.size() < kHead + length) return Next::need_more;
  std::swap(finished_, partial_);
  partial_.clear();
  frame = std::string_view(finished_).substr(kHead);
  return Next::frame;
}

void WatchFrames::clear() {
  input_ = {};
  partial_.clear();
  skipping_ = 0;
}

}  // namespace stowage::kube
