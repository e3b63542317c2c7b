// Splits the bytes of a watch into lines, however they arrive.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stowage::kube {

class WatchLines {
 public:
  explicit WatchLines(std::size_t line_bytes_max) : bytes_max_(line_bytes_max) {}

  void feed(std::string_view bytes) { input_ = bytes; }

  enum class Next : unsigned char { line, too_long, need_more };
  // Call until it needs more, then feed() again. Lines stay valid until then. A line that is too
  // long is reported once and skipped to its end.
  Next next(std::string_view& line);

  void clear();
  // Frees the memory of long lines, for owners of many instances. Lines that were returned become
  // invalid.
  void trim();
  // Memory of the beginning of an incomplete line.
  [[nodiscard]] std::size_t held() const { return partial_.empty() ? 0 : partial_.capacity(); }

 private:
  std::size_t bytes_max_;
  std::string_view input_;
  std::string partial_;   // the beginning of a line whose end has not come yet
  std::string finished_;  // the line that came in parts: at most one per feed()
  bool skipping_ = false;
};

}  // namespace stowage::kube
