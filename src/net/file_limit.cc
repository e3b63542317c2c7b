#include "net/file_limit.h"

#include <algorithm>
#include <sys/resource.h>

namespace stowage::net {
namespace {

constexpr rlim_t kEnough = 65536;
constexpr std::size_t kUsual = 1024;

}  // namespace

void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kEnough) return;
  limit.rlim_cur = std::min(limit.rlim_max, kEnough);
  (void)setrlimit(RLIMIT_NOFILE, &limit);  // otherwise unchanged
}

std::size_t file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kUsual;
  return static_cast<std::size_t>(std::min(limit.rlim_cur, kEnough));
}

}  // namespace stowage::net
