// A small JSON reader for annotation values, which are short and untrusted: strict, and limited in
// size and depth. The dialects are pure and must not depend on the fast parser of the codec, which
// reads the objects themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stowage::dialect {

struct Json {
  enum class Kind : std::uint8_t { null, boolean, number, string, array, object };

  Kind kind = Kind::null;
  bool truth = false;
  std::string text;               // a string, or a number as written
  std::vector<std::string> keys;  // of an object, one for each element
  std::vector<Json> elements;     // of an array or object

  // The field of an object; the last one if a key is repeated. Null if absent or null.
  [[nodiscard]] const Json* find(std::string_view key) const;
  // The number, if it is an integer of 64 bits without fraction or exponent.
  [[nodiscard]] std::optional<std::int64_t> integer() const;

  friend bool operator==(const Json&, const Json&) = default;
};

inline constexpr std::size_t kMaxJsonBytes = std::size_t{256} << 10U;  // all annotations together
inline constexpr int kMaxJsonDepth = 32;

[[nodiscard]] Result<Json> parse_json(std::string_view text);

}  // namespace stowage::dialect
