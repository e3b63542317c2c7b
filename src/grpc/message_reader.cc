#include "grpc/message_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace stowage::grpc {
namespace {

constexpr std::size_t kFirstRoom = std::size_t{16} << 10U;

}  // namespace

std::size_t MessageReader::put(std::string_view bytes) {
  if (complete_ || fault_ != Fault::none) return 0;
  std::size_t used = 0;
  if (head_size_ < kHead) {
    used = bytes.copy(head_.data() + head_size_, kHead - head_size_);
    head_size_ += used;
    if (head_size_ < kHead) return used;
    read_head();
    if (fault_ != Fault::none) return used;
  }
  const std::size_t missing = static_cast<std::size_t>(length_) - message_.size();
  const std::string_view part = bytes.substr(used, missing);
  // Memory is allocated as bytes arrive, not as they are announced, and never for more than the
  // message.
  if (message_.size() + part.size() > message_.capacity()) {
    const std::size_t wanted =
        std::max({message_.size() + part.size(), 2 * message_.capacity(), kFirstRoom});
    message_.reserve(std::min(wanted, static_cast<std::size_t>(length_)));
  }
  message_ += part;
  complete_ = message_.size() == length_;
  return used + part.size();
}

void MessageReader::read_head() {
  length_ = 0;
  for (std::size_t i = 1; i < kHead; ++i) {
    length_ = length_ << 8U | static_cast<unsigned char>(head_[i]);
  }
  if (head_[0] != 0) {
    fault_ = Fault::compressed;
  } else if (length_ > bytes_max_) {
    fault_ = Fault::too_long;
  }
}

std::string MessageReader::take() {
  complete_ = false;
  head_size_ = 0;
  length_ = 0;
  return std::exchange(message_, {});
}

std::string message_head(std::size_t length) {
  STOWAGE_CHECK(length <= std::numeric_limits<std::uint32_t>::max());
  std::string head(1, '\0');
  for (unsigned shift = 32; shift > 0; shift -= 8) {
    head += static_cast<char>((length >> (shift - 8)) & 0xffU);
  }
  return head;
}

}  // namespace stowage::grpc
