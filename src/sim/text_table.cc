#include "sim/text_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace stowage::sim {
namespace {

constexpr std::size_t kGap = 2;

std::string repeated(const char* piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

std::string without_trailing_blanks(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

TextTable::TextTable(std::vector<std::string> head, std::size_t left)
    : head_(std::move(head)), left_(left) {}

void TextTable::group(std::size_t first, std::size_t columns, std::string title) {
  groups_.push_back({first, columns, std::move(title)});
}

void TextTable::row(std::vector<std::string> cells) {
  STOWAGE_CHECK(cells.size() == head_.size());
  rows_.push_back(std::move(cells));
}

void TextTable::rule() { rows_.emplace_back(); }

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < head_.size(); ++column) {
    std::size_t width = head_[column].size();
    for (const auto& cells : rows_) {
      if (!cells.empty()) width = std::max(width, cells[column].size());
    }
    widths.push_back(width);
  }
  // A title that is wider than its columns widens the first of them.
  for (const Group& group : groups_) {
    std::size_t width = kGap * (group.columns - 1);
    for (std::size_t i = 0; i < group.columns; ++i) width += widths[group.first + i];
    if (group.title.size() > width) widths[group.first] += group.title.size() - width;
  }
  return widths;
}

// Titles centred in dashes: "-- refused pods --".
std::string TextTable::group_line(const std::vector<std::size_t>& widths) const {
  std::string text;
  std::size_t at = 0;
  for (const Group& group : groups_) {
    for (; at < group.first; ++at) text += std::string(widths[at] + kGap, ' ');
    std::size_t width = kGap * (group.columns - 1);
    for (; at < group.first + group.columns; ++at) width += widths[at];
    const std::size_t spare = width - group.title.size();
    const std::size_t before = spare < 4 ? spare / 2 : spare / 2 - 1;
    if (spare < 4) {
      text += std::string(before, ' ') + group.title + std::string(spare - before, ' ');
    } else {
      text += repeated("─", before) + " " + group.title + " " + repeated("─", spare - before - 2);
    }
    text += std::string(kGap, ' ');
  }
  return without_trailing_blanks(std::move(text));
}

std::string TextTable::line(const std::vector<std::string>& cells,
                            const std::vector<std::size_t>& widths) const {
  std::string text;
  for (std::size_t column = 0; column < cells.size(); ++column) {
    const std::string pad(widths[column] - cells[column].size(), ' ');
    text += column < left_ ? cells[column] + pad : pad + cells[column];
    text += std::string(kGap, ' ');
  }
  return without_trailing_blanks(std::move(text));
}

std::string TextTable::text() const {
  const auto columns = widths();
  std::size_t total = kGap * (columns.size() - 1);
  for (const std::size_t width : columns) total += width;
  const std::string rule = repeated("─", total) + "\n";
  std::string text;
  if (!groups_.empty()) text += group_line(columns) + "\n";
  text += line(head_, columns) + "\n" + rule;
  for (const auto& cells : rows_) text += cells.empty() ? rule : line(cells, columns) + "\n";
  return text;
}

}  // namespace stowage::sim
