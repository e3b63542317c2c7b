// What the fuzzers share. Each program defines one() and aborts with STOWAGE_CHECK if a property of
// its reader does not hold for the input.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/check.h"
#include "base/result.h"

namespace stowage::fuzz {

void one(std::string_view input);

// Messages go to logs and answers: they are not empty, and do not grow with the input.
inline constexpr std::size_t kMaxMessage = 2048;
inline void check_error(const Error& error) {
  STOWAGE_CHECK(!error.message.empty());
  STOWAGE_CHECK(error.message.size() <= kMaxMessage);
}

// True if it is a value; an error must have a valid message.
template <typename T>
[[nodiscard]] bool good(const Result<T>& result) {
  if (!result) check_error(result.error());
  return result.has_value();
}

// Two results for one text.
template <typename T>
[[nodiscard]] bool same(const Result<T>& a, const Result<T>& b) {
  return a.has_value() == b.has_value() && (a ? *a == *b : a.error() == b.error());
}

[[nodiscard]] inline bool inside(std::string_view part, std::string_view whole) {
  return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

}  // namespace stowage::fuzz
