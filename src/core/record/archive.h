// Converts plain values to text and back, field by field. One function per type lists its fields
// for both directions, so that writing and reading cannot differ.
//
// Text: tokens separated by blanks. Strings are preceded by their length ("5:hello"), so they may
// contain any byte. Doubles are written in hexadecimal, so they are restored exactly.
#pragma once

#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace stowage::core {

class RecordWriter {
 public:
  static constexpr bool kReading = false;

  template <typename... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void put(const std::string& text) {
    token(std::to_string(text.size()) + ":");
    out_.pop_back();  // the string follows its length without a blank
    out_ += text;
    out_ += ' ';
  }
  void put(double value) {
    char buffer[64];
    const auto end =
        std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::hex).ptr;
    token(std::string_view(buffer, static_cast<std::size_t>(end - buffer)));
  }
  template <typename T>
    requires std::is_integral_v<T>
  void put(T value) {
    token(std::to_string(value));
  }
  template <typename T>
    requires std::is_enum_v<T>
  void put(T value) {
    put(static_cast<std::int64_t>(value));
  }
  template <typename T>
  void put(const std::vector<T>& list) {
    put(list.size());
    for (const auto& entry : list) put(entry);
  }
  template <typename T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <typename K, typename V>
  void put(const std::map<K, V>& map) {
    put(map.size());
    for (const auto& [key, value] : map) {
      put(key);
      put(value);
    }
  }
  template <typename T>
    requires std::is_class_v<T>
  void put(const T& value) {
    fields(*this, const_cast<T&>(value));  // NOLINT: fields() only reads when writing
    out_.back() = '\n';
  }
  void token(std::string_view text) {
    out_ += text;
    out_ += ' ';
  }

  std::string out_;
};

// Reads the output of RecordWriter. After the first error, every value reads as empty and failed()
// stays true. Never allocates more than the text can hold.
class RecordReader {
 public:
  static constexpr bool kReading = true;

  explicit RecordReader(std::string_view text) : rest_(text) {}

  template <typename... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  void get(std::string& text) {
    const auto colon = rest_.find(':');
    std::size_t length = 0;
    if (colon == std::string_view::npos || !number(rest_.substr(0, colon), length) ||
        length > rest_.size() - colon - 1) {
      return fail();
    }
    text = std::string(rest_.substr(colon + 1, length));
    rest_.remove_prefix(colon + 1 + length);
    if (!rest_.empty()) rest_.remove_prefix(1);
  }
  void get(double& value) {
    const auto text = token();
    const auto end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value, std::chars_format::hex);
    if (result.ec != std::errc{} || result.ptr != end) fail();
  }
  void get(bool& value) {
    std::uint8_t n = 0;
    get(n);
    value = n != 0;
  }
  template <typename T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  void get(T& value) {
    if (!number(token(), value)) fail();
  }
  template <typename T>
    requires std::is_enum_v<T>
  void get(T& value) {
    std::underlying_type_t<T> number_value{};
    get(number_value);
    value = static_cast<T>(number_value);
  }
  template <typename T>
  void get(std::vector<T>& list) {
    std::size_t count = 0;
    get(count);
    list.clear();
    if (count > rest_.size()) return fail();
    for (std::size_t i = 0; i < count && !failed_; ++i) {
      T entry{};
      get(entry);
      list.push_back(std::move(entry));
    }
  }
  template <typename T>
  void get(std::optional<T>& value) {
    bool set = false;
    get(set);
    value.reset();
    if (!set || failed_) return;
    value.emplace();
    get(*value);
  }
  template <typename K, typename V>
  void get(std::map<K, V>& map) {
    std::size_t count = 0;
    get(count);
    map.clear();
    if (count > rest_.size()) return fail();
    for (std::size_t i = 0; i < count && !failed_; ++i) {
      K key{};
      get(key);
      get(map[key]);
    }
  }
  template <typename T>
    requires std::is_class_v<T>
  void get(T& value) {
    if (!failed_) fields(*this, value);
  }

  template <typename T>
  static bool number(std::string_view text, T& value) {
    const auto end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value);
    return result.ec == std::errc{} && result.ptr == end && !text.empty();
  }
  std::string_view token() {
    const auto end = rest_.find_first_of(" \n");
    if (end == std::string_view::npos) {
      fail();
      return {};
    }
    const auto text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }
  void fail() {
    failed_ = true;
    rest_ = {};
  }

  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace stowage::core
