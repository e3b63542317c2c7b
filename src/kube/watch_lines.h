// Cuts the bytes of a watch into lines, whatever way they arrive.
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
  // To be called until it needs more: then feed() again. Lines stay valid until then.
  // A line that is too long is reported once and skipped to its end.
  Next next(std::string_view& line);

  void clear();
  // Gives back the memory of long lines, for those who have many of these. Lines that were handed
  // out are valid no more.
  void trim();
  // What the beginning of a line takes that has not ended yet.
  [[nodiscard]] std::size_t held() const { return partial_.empty() ? 0 : partial_.capacity(); }

 private:
  std::size_t bytes_max_;
  std::string_view input_;
  std::string partial_;   // the beginning of a line whose end has not come yet
  std::string finished_;  // the line that came in parts: at most one of each feeding
  bool skipping_ = false;
};

}  // namespace stowage::kube
