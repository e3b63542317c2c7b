// Result<T>: a value or an Error. For operating errors only (bad input, failed calls); a refusal
// to place a pod is an ordinary value (core/model/reason.h), a broken invariant is STOWAGE_CHECK.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace stowage {

// An error message for people: lower case, no final period. It names the object and the value, and
// says what to do if that is known.
struct Error {
  std::string message;
  friend bool operator==(const Error&, const Error&) = default;
};

template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

using Status = Result<void>;

[[nodiscard]] inline tl::unexpected<Error> fail(std::string message) {
  return tl::unexpected<Error>(Error{std::move(message)});
}

}  // namespace stowage

// NOLINTBEGIN(bugprone-macro-parentheses): `name` and `target` name variables.
// Evaluates `expr` (a Result) into a new variable `name`, or returns its error to the caller.
#define STOWAGE_TRY(name, expr)                                                  \
  auto name##_result = (expr);                                                   \
  if (!name##_result) return ::tl::unexpected(std::move(name##_result).error()); \
  auto name = std::move(*name##_result)
// The same into an existing variable.
#define STOWAGE_TRY_ASSIGN(target, expr)                        \
  if (auto stowage_result = (expr); !stowage_result)            \
    return ::tl::unexpected(std::move(stowage_result).error()); \
  else                                                          \
    target = std::move(*stowage_result)

// The same for a Status, which has no value.
#define STOWAGE_TRY_VOID(expr)                       \
  if (auto stowage_status = (expr); !stowage_status) \
  return ::tl::unexpected(std::move(stowage_status).error())
// NOLINTEND(bugprone-macro-parentheses)
