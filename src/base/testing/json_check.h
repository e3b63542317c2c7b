// For tests: checks whether a text is JSON by RFC 8259. Small and strict, not fast.
#pragma once

#include <cstddef>
#include <string_view>

namespace stowage::base {

class JsonCheck {
 public:
  [[nodiscard]] static bool valid(std::string_view text) {
    JsonCheck check(text);
    if (!check.value(0)) return false;
    check.blanks();
    return check.at_ == text.size();
  }

 private:
  static constexpr int kDepthMax = 64;

  explicit JsonCheck(std::string_view text) : text_(text) {}

  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void blanks() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\r' || peek() == '\t') ++at_;
  }
  static bool digit(char c) { return c >= '0' && c <= '9'; }
  bool digits() {
    const std::size_t first = at_;
    while (digit(peek())) ++at_;
    return at_ > first;
  }
  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (!take('e') && !take('E')) return true;
    if (!take('+')) take('-');
    return digits();
  }
  bool string() {
    if (!take('"')) return false;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c != '\\') continue;
      const char escape = peek();
      ++at_;
      if (escape == 'u') {
        for (int i = 0; i < 4; ++i, ++at_) {
          if (std::string_view("0123456789abcdefABCDEF").find(peek()) == std::string_view::npos) {
            return false;
          }
        }
      } else if (std::string_view("\"\\/bfnrt").find(escape) == std::string_view::npos) {
        return false;
      }
    }
    return false;
  }
  bool object(int depth) {
    blanks();
    if (take('}')) return true;
    do {
      blanks();
      if (!string()) return false;
      blanks();
      if (!take(':') || !value(depth)) return false;
      blanks();
    } while (take(','));
    return take('}');
  }
  bool array(int depth) {
    blanks();
    if (take(']')) return true;
    do {
      if (!value(depth)) return false;
      blanks();
    } while (take(','));
    return take(']');
  }
  bool value(int depth) {
    if (depth > kDepthMax) return false;
    blanks();
    if (peek() == '"') return string();
    if (take('{')) return object(depth + 1);
    if (take('[')) return array(depth + 1);
    return take_word("true") || take_word("false") || take_word("null") || number();
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace stowage::base
