// Bytes to send: owned text, and chunks shared with other connections without a copy. Gathered into
// as few system calls as possible.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace stowage::net {

class OutputQueue {
 public:
  void push(std::string bytes);
  // A part of a body; counted in payload() until it is consumed.
  void push_payload(std::shared_ptr<const std::string> bytes);

  // The first pieces, as many as `pieces` holds. Valid until the queue changes.
  [[nodiscard]] std::size_t gather(std::span<std::string_view> pieces) const;
  void consume(std::size_t count);
  void clear();

  [[nodiscard]] bool empty() const { return segments_.empty(); }
  [[nodiscard]] std::size_t payload() const { return payload_; }

 private:
  struct Segment {
    std::string owned;
    std::shared_ptr<const std::string> shared;  // if set: the bytes, and they are payload

    [[nodiscard]] std::string_view view() const { return shared ? *shared : owned; }
  };

  std::deque<Segment> segments_;
  std::size_t offset_ = 0;  // into the first segment
  std::size_t payload_ = 0;
};

}  // namespace stowage::net
