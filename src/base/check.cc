#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace stowage::base {

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "stowage: broken invariant: %s at %s:%d\n", expression, file, line);
  std::abort();
}

}  // namespace stowage::base
