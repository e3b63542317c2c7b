#include "base/json_writer.h"

#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace stowage::base {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool continues(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const auto second = text.size() > 1 ? static_cast<unsigned char>(text[1]) : 0U;
  if (first >= 0xC2 && first <= 0xDF) return continues(text, 1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && second < 0xA0;
    const bool surrogate = first == 0xED && second > 0x9F;
    return !overlong && !surrogate && continues(text, 1) && continues(text, 2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && second < 0x90;
    const bool beyond = first == 0xF4 && second > 0x8F;
    const bool whole = continues(text, 1) && continues(text, 2) && continues(text, 3);
    return !overlong && !beyond && whole ? 4 : 0;
  }
  return 0;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string json_escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t length = utf8_length(text);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += length > 0 ? text.substr(0, length) : kReplacement;
    }
    text.remove_prefix(length > 0 ? length : 1);
  }
  return out;
}

void JsonWriter::before_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) return;
  if (!levels_.back().empty) out_ += ',';
  levels_.back().empty = false;
  new_line();
}

void JsonWriter::new_line() {
  if (style_ == Style::compact) return;
  out_ += '\n';
  out_.append(2 * levels_.size(), ' ');
}

void JsonWriter::end(char bracket) {
  STOWAGE_CHECK(!levels_.empty() && !after_key_);
  const bool empty = levels_.back().empty;
  levels_.pop_back();
  if (!empty) new_line();
  out_ += bracket;
}

JsonWriter& JsonWriter::begin_object() {
  before_value();
  out_ += '{';
  levels_.emplace_back();
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  end('}');
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  before_value();
  out_ += '[';
  levels_.emplace_back();
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  end(']');
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  before_value();
  fmt::format_to(std::back_inserter(out_), "\"{}\":", json_escaped(name));
  if (style_ == Style::indented) out_ += ' ';
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  before_value();
  fmt::format_to(std::back_inserter(out_), "\"{}\"", json_escaped(text));
  return *this;
}

JsonWriter& JsonWriter::value(std::int64_t number) {
  before_value();
  out_ += std::to_string(number);
  return *this;
}

JsonWriter& JsonWriter::value(std::uint64_t number) {
  before_value();
  out_ += std::to_string(number);
  return *this;
}

JsonWriter& JsonWriter::value(std::optional<double> number, int decimals) {
  before_value();
  if (number && std::isfinite(*number)) {
    fmt::format_to(std::back_inserter(out_), "{:.{}f}", *number, decimals);
  } else {
    out_ += "null";
  }
  return *this;
}

JsonWriter& JsonWriter::boolean(bool truth) { return raw(truth ? "true" : "false"); }

JsonWriter& JsonWriter::null() { return raw("null"); }

JsonWriter& JsonWriter::raw(std::string_view json) {
  before_value();
  out_ += json;
  return *this;
}

std::string JsonWriter::take() {
  STOWAGE_CHECK(levels_.empty() && !after_key_);
  if (style_ == Style::indented) out_ += '\n';
  return std::exchange(out_, {});
}

}  // namespace stowage::base
