#include "net/error_text.h"

#include <chrono>

#include <fmt/format.h>

#include "net/ascii.h"

namespace stowage::net {

std::string lower_first(std::string text) {
  if (!text.empty()) text.front() = to_ascii_lower(text.front());
  return text;
}

std::string duration_text(Duration duration) {
  return fmt::format("{:g} s", std::chrono::duration<double>(duration).count());
}

}  // namespace stowage::net
