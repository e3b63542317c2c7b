// Writes YAML with comments, in the layout of kubectl. A mapping or list that stays empty is not
// written.
//
//   out.open_list("profiles"); out.item(); out.field("schedulerName", "a"); out.close();
//   out.close();
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "client/tree.h"

namespace stowage::client {

class YamlOut {
 public:
  YamlOut& open(std::string_view key);
  YamlOut& open_list(std::string_view key);
  YamlOut& item();
  YamlOut& close();

  // Lines with # before them, wrapped, in the column of the last output.
  YamlOut& comment(std::string_view words);
  // A string; quoted if it would be read as something else.
  YamlOut& field(std::string_view key, std::string_view text);
  // Written as it is: a number, true, false.
  YamlOut& raw(std::string_view key, std::string_view value);
  YamlOut& tree(std::string_view key, const Tree& tree);

  [[nodiscard]] std::string take();

 private:
  struct Level {
    std::string key;  // empty: an item
    bool written = false;
    std::size_t indent = 0;  // of its content
  };
  [[nodiscard]] std::size_t indent() const { return levels_.empty() ? 0 : levels_.back().indent; }
  void push(std::string_view key, std::size_t indent);
  void begin_parents();
  void line(std::string_view text);

  std::vector<Level> levels_;
  bool dash_ = false;  // the next line begins an item
  std::string out_;
};

// A YAML value: plain where that is safe, otherwise quoted.
[[nodiscard]] std::string yaml_text(std::string_view text);

}  // namespace stowage::client
