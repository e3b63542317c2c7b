// A strict reader for small, plain CSV: a header line, then one line per row, commas between
// fields, no quotes. Columns are found by name, so their order does not matter.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/text.h"

namespace stowage::sim {

struct CsvColumn {
  enum class Need : std::uint8_t { required, optional };
  std::string_view name;
  Need need = Need::required;
};

// Views into the text that was parsed: the text must outlive the table.
class CsvTable {
 public:
  // Every line must have as many fields as the header, and the header may contain only columns of
  // `columns`, each at most once. Returns the first error, with file, line and value.
  [[nodiscard]] static Result<CsvTable> parse(std::string_view file, std::string_view text,
                                              std::span<const CsvColumn> columns);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t line(std::size_t row) const { return row + 2; }
  [[nodiscard]] bool has(std::size_t column) const { return position_[column] != kAbsent; }

  // `column` is the position in the list of columns given to parse(). Requires: has(column).
  [[nodiscard]] std::string_view text(std::size_t row, std::size_t column) const {
    return cells_[row * width_ + position_[column]];
  }
  [[nodiscard]] Place place(std::size_t row, std::size_t column) const {
    return {file_, line(row), columns_[column].name};
  }
  [[nodiscard]] Result<std::int64_t> whole(std::size_t row, std::size_t column,
                                           WholeRange range) const {
    return parse_whole(place(row, column), text(row, column), range);
  }

 private:
  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);

  [[nodiscard]] Status read_header(std::string_view line);

  std::string_view file_;
  std::span<const CsvColumn> columns_;
  std::vector<std::size_t> position_;  // per known column: which field, or kAbsent
  std::size_t width_ = 0;
  std::size_t rows_ = 0;
  std::vector<std::string_view> cells_;
};

}  // namespace stowage::sim
