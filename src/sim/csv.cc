#include "sim/csv.h"

#include <fmt/format.h>

namespace stowage::sim {
namespace {

std::string names_of(std::span<const CsvColumn> columns) {
  std::string names;
  for (const CsvColumn& column : columns) {
    if (!names.empty()) names += ", ";
    names += column.name;
  }
  return names;
}

}  // namespace

Status CsvTable::read_header(std::string_view line) {
  const auto fields = split(line, ',');
  width_ = fields.size();
  position_.assign(columns_.size(), kAbsent);
  for (std::size_t field = 0; field < fields.size(); ++field) {
    std::size_t known = 0;
    while (known < columns_.size() && columns_[known].name != fields[field]) ++known;
    if (known == columns_.size()) {
      return fail(fmt::format("{}:1: unknown column {}: expected some of {}", file_,
                              in_quotes(fields[field]), names_of(columns_)));
    }
    if (position_[known] != kAbsent) {
      return fail(fmt::format("{}:1: column {} appears twice", file_, in_quotes(fields[field])));
    }
    position_[known] = field;
  }
  for (std::size_t known = 0; known < columns_.size(); ++known) {
    if (columns_[known].need == CsvColumn::Need::required && position_[known] == kAbsent) {
      return fail(
          fmt::format("{}:1: column {} is missing", file_, in_quotes(columns_[known].name)));
    }
  }
  return {};
}

Result<CsvTable> CsvTable::parse(std::string_view file, std::string_view text,
                                 std::span<const CsvColumn> columns) {
  const auto lines = split_lines(text);
  if (lines.empty()) return fail(fmt::format("{}: the file is empty", file));
  CsvTable table;
  table.file_ = file;
  table.columns_ = columns;
  STOWAGE_TRY_VOID(table.read_header(lines.front()));
  table.rows_ = lines.size() - 1;
  table.cells_.reserve(table.rows_ * table.width_);
  for (std::size_t row = 0; row < table.rows_; ++row) {
    const std::string_view line = lines[row + 1];
    if (line.find('"') != std::string_view::npos) {
      return fail(fmt::format("{}:{}: {} has a double quote: quoted fields are not supported", file,
                              table.line(row), in_quotes(line)));
    }
    const auto fields = split(line, ',');
    if (fields.size() != table.width_) {
      return fail(fmt::format("{}:{}: {} has {} field{}: expected {}, as in the header", file,
                              table.line(row), in_quotes(line), fields.size(),
                              fields.size() == 1 ? "" : "s", table.width_));
    }
    table.cells_.insert(table.cells_.end(), fields.begin(), fields.end());
  }
  return table;
}

}  // namespace stowage::sim
