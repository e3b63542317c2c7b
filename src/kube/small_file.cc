#include "kube/small_file.h"

#include "base/file.h"

namespace stowage::kube {
namespace {

constexpr std::size_t kBytesMax = std::size_t{4} << 20U;

}  // namespace

Result<std::string> read_small_file(const std::string& path) {
  return base::read_file(path, kBytesMax);
}

}  // namespace stowage::kube
