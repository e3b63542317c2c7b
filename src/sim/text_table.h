// A table for a terminal: aligned columns, a line under the header, optional titles above groups of
// columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stowage::sim {

class TextTable {
 public:
  // The first `left` columns are left-aligned, the others right-aligned.
  TextTable(std::vector<std::string> head, std::size_t left);

  // A title over the columns first .. first + columns - 1.
  void group(std::size_t first, std::size_t columns, std::string title);

  // Requires: as many cells as the header. Cells are ASCII.
  void row(std::vector<std::string> cells);
  // A horizontal line between rows.
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
  std::vector<std::vector<std::string>> rows_;  // an empty row is a horizontal line
};

}  // namespace stowage::sim
