// STOWAGE_CHECK: invariants of our own logic. Always enabled; prints a message and aborts. External
// input never triggers one: it is validated first and answered with an Error or a Reason.
#pragma once

namespace stowage::base {

[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace stowage::base

#define STOWAGE_CHECK(expression)      \
  ((expression) ? static_cast<void>(0) \
                : ::stowage::base::check_failed(#expression, __FILE__, __LINE__))
