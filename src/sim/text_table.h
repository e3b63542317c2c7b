// A table for a terminal: aligned columns, a rule under the head, optional heads over groups of
// columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stowage::sim {

class TextTable {
 public:
  // Cells of the first `left` columns stand on the left, the others on the right.
  TextTable(std::vector<std::string> head, std::size_t left);

  // A title over the columns first .. first + columns - 1.
  void group(std::size_t first, std::size_t columns, std::string title);

  // Requires: as many cells as the head has. Cells are ASCII.
  void row(std::vector<std::string> cells);
  // A rule between rows.
  void rule();

  [[nodiscard]] std::string text() const;

 private:
  struct Group {
    std::size_t first = 0;
    std::size_t columns = 0;
    std::string title;
  };

  [[nodiscard]] std::vector<std::size_t> widths() const;
  [[nodiscard]] std::string group_line(const std::vector<std::size_t>& widths) const;
  [[nodiscard]] std::string line(const std::vector<std::string>& cells,
                                 const std::vector<std::size_t>& widths) const;

  std::vector<std::string> head_;
  std::size_t left_;
  std::vector<Group> groups_;
  std::vector<std::vector<std::string>> rows_;  // an empty one is a rule
};

}  // namespace stowage::sim
