#include "net/error_text.h"

#include <chrono>

#include <fmt/format.h>

#include "base/text.h"

namespace stowage::net {

std::string lower_first(std::string text) {
  if (!text.empty()) text.front() = base::ascii_lower(text.front());
  return text;
}

std::string duration_text(Duration duration) {
  return fmt::format("{:g} s", std::chrono::duration<double>(duration).count());
}

}  // namespace stowage::net
