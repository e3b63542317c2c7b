// Strict parsing of text: lines, numbers, and values for error messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stowage::sim {

// The value in double quotes, always on one line: control characters and non-ASCII bytes become
// \xNN, and values longer than 60 characters are cut.
[[nodiscard]] std::string in_quotes(std::string_view value);

// The location of a value, for messages: "pods.csv:17: gpu_milli".
struct Place {
  std::string_view file;
  std::size_t line = 0;
  std::string_view what;
};

struct WholeRange {
  std::int64_t min = 0;
  std::int64_t max = 0;
};

// Digits only, with an optional minus: no blanks, no plus, no fraction. Otherwise the error is
//   pods.csv:17: gpu_milli is "-5": expected a whole number from 0 to 1000000
[[nodiscard]] Result<std::int64_t> parse_whole(const Place& place, std::string_view text,
                                               WholeRange range);

// The lines of the text without line ends (LF or CRLF). The final newline may be missing; an empty
// text has no lines. A byte order mark at the beginning is skipped.
[[nodiscard]] std::vector<std::string_view> split_lines(std::string_view text);

// The parts between the separators: one more than there are separators.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

// True for a name that is valid in every format we read and write: 1 to 253 printable ASCII
// characters, without blanks, commas and quotes.
[[nodiscard]] bool is_plain_name(std::string_view text);

// 1234567 as "1,234,567".
[[nodiscard]] std::string grouped(std::int64_t number);

}  // namespace stowage::sim
