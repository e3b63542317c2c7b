// Writes JSON text, indented by two blanks for people or compact for machines. Commas, escapes and
// nesting are its business; that keys stand in objects and are not repeated is the caller's.
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

  // Bytes that are not UTF-8 become U+FFFD, so that the text can always be read back.
  JsonWriter& value(std::string_view text);
  JsonWriter& value(std::int32_t number) { return value(std::int64_t{number}); }
  JsonWriter& value(std::int64_t number);
  JsonWriter& value(std::uint64_t number);
  // With that many digits after the point. Unset, infinite and not-a-number become null.
  JsonWriter& value(std::optional<double> number, int decimals);
  // Not named value(): a pointer to characters would rather become a bool than a string_view.
  JsonWriter& boolean(bool truth);
  JsonWriter& null();
  // A value that is JSON already. Requires: it is.
  JsonWriter& raw(std::string_view json);

  // The finished text, indented with a final newline. Requires: everything that was begun has
  // ended.
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

// Length of the well-formed UTF-8 sequence at the beginning of the text, or 0 if there is none.
[[nodiscard]] std::size_t utf8_length(std::string_view text);
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace stowage::base
