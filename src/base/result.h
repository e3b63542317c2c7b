// Result<T>: a value or an Error. For operating errors only (bad input, failed calls); a refusal
// to place a pod is an ordinary value (core/model/reason.h), a broken invariant is STOWAGE_CHECK.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace stowage {

// What went wrong, in words for a person: lower case, no final period, names the object and the
// value, says what to do when that is known.
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

// NOLINTBEGIN(bugprone-macro-parentheses): `name` is the name of a new variable.
// Evaluates `expr` (a Result) into a new variable `name`, or returns its error to the caller.
#define STOWAGE_TRY(name, expr)                                                  \
  auto name##_result = (expr);                                                   \
  if (!name##_result) return ::tl::unexpected(std::move(name##_result).error()); \
  auto name = std::move(*name##_result)
// NOLINTEND(bugprone-macro-parentheses)

// The same for a Status, which has no value.
#define STOWAGE_TRY_VOID(expr)                       \
  if (auto stowage_status = (expr); !stowage_status) \
  return ::tl::unexpected(std::move(stowage_status).error())
