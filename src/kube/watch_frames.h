// Splits the bytes of a watch in protobuf into frames, however they arrive: four bytes with the
// length, big-endian, and then that many bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stowage::kube {

class WatchFrames {
 public:
  explicit WatchFrames(std::size_t frame_bytes_max) : bytes_max_(frame_bytes_max) {}

  void feed(std::string_view bytes) { input_ = bytes; }

  enum class Next : unsigned char { frame, too_long, need_more };
  // Call until it needs more, then feed() again. Frames stay valid until then and exclude their
  // length. A frame that is too long is reported once and skipped to its end.
  Next next(std::string_view& frame);

  void clear();

 private:
  std::size_t bytes_max_;
  std::string_view input_;
  std::string partial_;         // the beginning of a frame, with its length
  std::string finished_;        // the frame that came in parts: at most one per feed()
  std::uint64_t skipping_ = 0;  // bytes of a frame that is too long
};

}  // namespace stowage::kube
