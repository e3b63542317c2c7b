// Writes JSON text, indented by two blanks or compact. It adds commas, escapes and nesting. The
// caller must write keys only in objects and never repeat them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stowage::base {

class JsonWriter {
 public:
  enum class Style : std::uint8_t { indented, compact };

  explicit JsonWriter(Style style = Style::indented) : style_(style) {}

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);

  // Bytes that are not UTF-8 become U+FFFD, so that the text is always valid.
  JsonWriter& value(std::string_view text);
  JsonWriter& value(std::int32_t number) { return value(std::int64_t{number}); }
  JsonWriter& value(std::int64_t number);
  JsonWriter& value(std::uint64_t number);
  // With this many decimals. Unset, infinite and NaN become null.
  JsonWriter& value(std::optional<double> number, int decimals);
  // Not named value(), because a char pointer would convert to bool rather than to string_view.
  JsonWriter& boolean(bool truth);
  JsonWriter& null();
  // A value that is already JSON. Requires: valid JSON.
  JsonWriter& raw(std::string_view json);

  // The finished text; if indented, with a final newline. Requires: all objects and arrays are
  // closed.
  [[nodiscard]] std::string take();

 private:
  void before_value();
  void new_line();
  void end(char bracket);

  struct Level {
    bool empty = true;
  };
  Style style_;
  std::string out_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

// The text between the quotes of a JSON string.
[[nodiscard]] std::string json_escaped(std::string_view text);

// Length of the well-formed UTF-8 sequence at the start of the text, or 0 if none exists.
[[nodiscard]] std::size_t utf8_length(std::string_view text);
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace stowage::base
