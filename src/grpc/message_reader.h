// Cuts the messages of a stream out of its bytes, whatever way these arrive: before each message
// one byte says whether it is compressed, and four its length, the highest first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stowage::grpc {

class MessageReader {
 public:
  explicit MessageReader(std::size_t message_bytes_max) : bytes_max_(message_bytes_max) {}

  enum class Fault : std::uint8_t {
    none,
    compressed,  // or another first byte that is not 0; nobody was asked to compress
    too_long,    // told by its length, before anything of it is kept
  };

  // Takes bytes up to the end of a message and returns how many. Where complete() is true after
  // that, the message has to be taken before more can be put. After a fault it takes nothing.
  [[nodiscard]] std::size_t put(std::string_view bytes);
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] std::string take();
  [[nodiscard]] Fault fault() const { return fault_; }
  [[nodiscard]] std::uint64_t length() const { return length_; }  // of the message that is coming
  [[nodiscard]] std::size_t bytes_max() const { return bytes_max_; }

  // False in the middle of a message: it is cut off if nothing more comes.
  [[nodiscard]] bool between_messages() const { return head_size_ == 0; }
  [[nodiscard]] std::size_t held() const { return message_.size(); }

 private:
  static constexpr std::size_t kHead = 5;

  void read_head();

  std::size_t bytes_max_;
  std::array<char, kHead> head_{};
  std::size_t head_size_ = 0;
  std::uint64_t length_ = 0;
  std::string message_;
  bool complete_ = false;
  Fault fault_ = Fault::none;
};

// The five bytes that stand before a message of that length. Requires: it fits into 32 bits.
[[nodiscard]] std::string message_head(std::size_t length);

}  // namespace stowage::grpc
