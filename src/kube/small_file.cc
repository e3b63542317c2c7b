#include "kube/small_file.h"

#include "base/file.h"

namespace stowage::kube {
namespace {

constexpr std::size_t kBytesMax = std::size_t{4} << 20U;

}  // namespace

Result<std::string> read_small_file(const std::string& path) {
  return base::read_file(path, kBytesMax);
}

std::string trimmed(const std::string& text) {
  constexpr const char* kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace stowage::kube
