// Bytes that were received and not consumed, contiguous. Grows on request; shrinks only by trim().
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace stowage::net {

class InputBuffer {
 public:
  [[nodiscard]] std::string_view view() const { return {bytes_.get() + begin_, end_ - begin_}; }
  [[nodiscard]] std::size_t size() const { return end_ - begin_; }

  // Space for at least `wanted` / 4 more bytes, and for `wanted` if memory has to be moved;
  // followed by commit(). Until then only consume() may be called, and the space does not move.
  [[nodiscard]] std::span<char> prepare(std::size_t wanted) {
    if (begin_ == end_) begin_ = end_ = 0;
    if (capacity_ - end_ < wanted / 4) make_room(wanted);
    return {bytes_.get() + end_, capacity_ - end_};
  }
  void commit(std::size_t count) { end_ += count; }

  void consume(std::size_t count) { begin_ += count; }

  // Frees memory if the buffer is empty and its capacity exceeds `keep`.
  void trim(std::size_t keep) {
    if (size() != 0 || capacity_ <= keep) return;
    bytes_.reset();
    capacity_ = begin_ = end_ = 0;
  }

 private:
  void make_room(std::size_t room) {
    const std::size_t held = size();
    // Moving is worth it if it frees half of the memory: then the total cost is linear.
    if (begin_ >= held && capacity_ - held >= room) {
      if (held != 0) std::memmove(bytes_.get(), bytes_.get() + begin_, held);
    } else {
      const std::size_t grown = held + (room > held ? room : held);
      auto bytes = std::make_unique_for_overwrite<char[]>(grown);
      if (held != 0) std::memcpy(bytes.get(), bytes_.get() + begin_, held);
      bytes_ = std::move(bytes);
      capacity_ = grown;
    }
    begin_ = 0;
    end_ = held;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace stowage::net
