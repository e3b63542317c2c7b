// A small JSON document as a tree, for configurations that are rewritten as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stowage::client {

struct TreeField;

struct Tree {
  enum class Kind : std::uint8_t { object, array, text, number, truth, null };
  Kind kind = Kind::null;
  std::string scalar;             // the text; a number as it is written; "true" or "false"
  std::vector<TreeField> fields;  // in document order, without nulls
  std::vector<Tree> elements;

  // Null if there is no such field. Keys are case-insensitive, as in old files.
  [[nodiscard]] const Tree* find(std::string_view key) const;
  // The scalar, if it is a string; otherwise empty.
  [[nodiscard]] std::string text_at(std::string_view key) const;
  [[nodiscard]] bool is(Kind k) const { return kind == k; }

  [[nodiscard]] static Tree text(std::string words);
  [[nodiscard]] static Tree number(std::string digits);
};

struct TreeField {
  std::string key;
  Tree value;
};

[[nodiscard]] bool same_key(std::string_view a, std::string_view b);  // case-insensitive

// The text must be an object, at most 50 levels deep.
[[nodiscard]] Result<Tree> parse_tree(std::string_view json);

}  // namespace stowage::client
