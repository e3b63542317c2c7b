#include "dialect/json.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/number.h"

namespace stowage::dialect {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string& out, std::uint32_t point) {
  const auto byte = [&](std::uint32_t value) { out += static_cast<char>(value); };
  if (point < 0x80) {
    byte(point);
  } else if (point < 0x800) {
    byte(0xC0U | (point >> 6U));
    byte(0x80U | (point & 0x3FU));
  } else if (point < 0x10000) {
    byte(0xE0U | (point >> 12U));
    byte(0x80U | ((point >> 6U) & 0x3FU));
    byte(0x80U | (point & 0x3FU));
  } else {
    byte(0xF0U | (point >> 18U));
    byte(0x80U | ((point >> 12U) & 0x3FU));
    byte(0x80U | ((point >> 6U) & 0x3FU));
    byte(0x80U | (point & 0x3FU));
  }
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<Json> whole() {
    Json json;
    if (!value(json, 0)) return wrong();
    blanks();
    if (at_ != text_.size()) return wrong();
    return json;
  }

 private:
  [[nodiscard]] tl::unexpected<Error> wrong() const {
    return fail(fmt::format("not JSON: character {} is unexpected", at_ + 1));
  }
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void blanks() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\r' || peek() == '\t') ++at_;
  }
  bool digits() {
    const std::size_t first = at_;
    while (is_digit(peek())) ++at_;
    return at_ > first;
  }

  bool number(Json& json) {
    const std::size_t first = at_;
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (!digits()) return false;
    }
    json.kind = Json::Kind::number;
    json.text = text_.substr(first, at_ - first);
    return true;
  }

  bool hex(std::uint32_t& unit) {
    if (text_.size() - at_ < 4) return false;
    const auto parsed = base::parse_number<std::uint32_t>(text_.substr(at_, 4), 16);
    if (!parsed) return false;
    unit = *parsed;
    at_ += 4;
    return true;
  }

  // After "\u": one UTF-16 unit, or a surrogate pair.
  bool unicode(std::string& out) {
    std::uint32_t point = 0;
    if (!hex(point)) return false;
    if (point >= 0xDC00 && point <= 0xDFFF) return false;
    if (point >= 0xD800 && point <= 0xDBFF) {
      std::uint32_t low = 0;
      if (!take("\\u") || !hex(low) || low < 0xDC00 || low > 0xDFFF) return false;
      point = 0x10000 + ((point - 0xD800) << 10U) + (low - 0xDC00);
    }
    append_utf8(out, point);
    return true;
  }

  bool escape(std::string& out) {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
    if (take('u')) return unicode(out);
    const auto which = at_ < text_.size() ? kNames.find(text_[at_]) : std::string_view::npos;
    if (which == std::string_view::npos) return false;
    out += kMeant[which];
    ++at_;
    return true;
  }

  bool string(std::string& out) {
    if (!take('"')) return false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) return false;
      ++at_;
      if (c == '"') return true;
      if (c != '\\') {
        out += c;
      } else if (!escape(out)) {
        return false;
      }
    }
    return false;
  }

  // The depth is limited, so the recursion is bounded.
  bool members(Json& json, char end, int depth) {
    blanks();
    if (take(end)) return true;
    do {
      if (end == '}') {
        blanks();
        if (!string(json.keys.emplace_back())) return false;
        blanks();
        if (!take(':')) return false;
      }
      if (!value(json.elements.emplace_back(), depth)) return false;
      blanks();
    } while (take(','));
    return take(end);
  }

  bool value(Json& json, int depth) {
    blanks();
    if (depth > kMaxJsonDepth) return false;
    if (take('{')) {
      json.kind = Json::Kind::object;
      return members(json, '}', depth + 1);
    }
    if (take('[')) {
      json.kind = Json::Kind::array;
      return members(json, ']', depth + 1);
    }
    if (peek() == '"') {
      json.kind = Json::Kind::string;
      return string(json.text);
    }
    if (take("null")) return true;
    json.truth = take("true");
    if (json.truth || take("false")) {
      json.kind = Json::Kind::boolean;
      return true;
    }
    return number(json);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

const Json* Json::find(std::string_view key) const {
  for (std::size_t i = keys.size(); i-- > 0;) {
    if (keys[i] == key) return elements[i].kind == Kind::null ? nullptr : &elements[i];
  }
  return nullptr;
}

std::optional<std::int64_t> Json::integer() const {
  if (kind != Kind::number) return std::nullopt;
  return base::parse_number<std::int64_t>(text);
}

Result<Json> parse_json(std::string_view text) {
  if (text.size() > kMaxJsonBytes) {
    return fail(fmt::format("{} bytes are too many; the limit is {}", text.size(), kMaxJsonBytes));
  }
  if (!base::is_utf8(text)) return fail("the text is not UTF-8");
  return Reader(text).whole();
}

}  // namespace stowage::dialect
