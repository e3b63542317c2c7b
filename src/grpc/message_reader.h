// Splits the bytes of a stream into messages, however they arrive. Before each message, one byte
// says whether it is compressed, and four bytes are its length, big-endian.
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
    compressed,  // or another non-zero first byte; we never ask for compression
    too_long,    // found by its length, before any of it is kept
  };

  // Takes bytes up to the end of a message and returns how many. If complete() is true after that,
  // the message must be taken before more can be put. After a fault it takes nothing.
  [[nodiscard]] std::size_t put(std::string_view bytes);
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] std::string take();
  [[nodiscard]] Fault fault() const { return fault_; }
  [[nodiscard]] std::uint64_t length() const { return length_; }  // of the incoming message
  [[nodiscard]] std::size_t bytes_max() const { return bytes_max_; }

  // False inside a message: it is truncated if nothing more arrives.
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

// The five bytes before a message of that length. Requires: it fits into 32 bits.
[[nodiscard]] std::string message_head(std::size_t length);

}  // namespace stowage::grpc
