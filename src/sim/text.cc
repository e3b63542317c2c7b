#include "sim/text.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/number.h"

namespace stowage::sim {
namespace {

constexpr std::size_t kShownMax = 60;
constexpr std::size_t kNameMax = 253;

bool printable(char c) { return c >= ' ' && c <= '~'; }

}  // namespace

std::string in_quotes(std::string_view value) {
  std::string out = "\"";
  for (const char c : value.substr(0, kShownMax)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (printable(c)) {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (value.size() > kShownMax) out += "...";
  out += '"';
  return out;
}

Result<std::int64_t> parse_whole(const Place& place, std::string_view text, WholeRange range) {
  const auto value = base::parse_number<std::int64_t>(text);
  if (value && *value >= range.min && *value <= range.max) return *value;
  return fail(fmt::format("{}:{}: {} is {}: expected a whole number from {} to {}", place.file,
                          place.line, place.what, in_quotes(text), range.min, range.max));
}

std::vector<std::string_view> split_lines(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const std::size_t end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

bool is_plain_name(std::string_view text) {
  return !text.empty() && text.size() <= kNameMax &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return printable(c) && c != ' ' && c != ',' && c != '"'; });
}

std::string grouped(std::int64_t number) {
  const std::string digits = std::to_string(number);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::size_t left = digits.size() - i;
    if (i > 0 && left % 3 == 0 && digits[i - 1] != '-') out += ',';
    out += digits[i];
  }
  return out;
}

}  // namespace stowage::sim
