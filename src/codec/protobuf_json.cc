#include "codec/protobuf_json.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/rfc3339.h"
#include "codec/fields.h"

namespace stowage::codec {
namespace {

using Kind = ProtobufMember::Kind;
using Shape = ProtobufMember::Shape;
using Wire = ProtobufField::Wire;

// Limit of fields of all open messages. Objects that the API server stores have fewer.
constexpr std::size_t kMaxParts = std::size_t{1} << 20U;

tl::unexpected<Error> wrong(const Where* where, std::string_view words) {
  const std::string place = where == nullptr ? "" : where->text();
  return fail(place.empty() ? std::string(words) : fmt::format("{}: {}", place, words));
}

// The number of leading characters that need no escape in a JSON string.
std::size_t plain_length(std::string_view text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  constexpr std::uint64_t kHighs = 0x8080808080808080U;
  const auto any_zero = [](std::uint64_t word) { return (word - kOnes) & ~word; };
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    const std::uint64_t low = (word - kOnes * 0x20) & ~word;
    const std::uint64_t marks =
        low | any_zero(word ^ (kOnes * '"')) | any_zero(word ^ (kOnes * '\\')) | word;
    if ((marks & kHighs) != 0) break;
  }
  for (; at < text.size(); ++at) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\') break;
  }
  return at;
}

// True for values that mean absent in protobuf and are omitted in JSON.
bool is_absent(const ProtobufMember& member, const ProtobufField& field) {
  const bool may_be = member.kind == Kind::text || member.kind == Kind::time;
  return may_be && field.wire == Wire::bytes && field.bytes.empty();
}

std::string_view expected(Kind kind) {
  switch (kind) {
    case Kind::text: return "expected a string";
    case Kind::number: return "expected a number";
    case Kind::boolean: return "expected true or false";
    default: return "expected a message";
  }
}

}  // namespace

Result<std::string_view> ProtobufJson::text(const ProtobufMessage& message,
                                            std::string_view bytes) {
  if (bytes.size() > kMaxObjectBytes) {
    return fail(
        fmt::format("the object has {} bytes; the limit is {}", bytes.size(), kMaxObjectBytes));
  }
  size_ = 0;
  parts_.clear();
  STOWAGE_TRY_VOID(put_message(message, bytes, nullptr));
  return std::string_view(out_).substr(0, size_ - 1);  // without the final comma
}

// Every value is followed by a comma; the closing bracket replaces the last one.
Status ProtobufJson::put_message(const ProtobufMessage& message, std::string_view bytes,
                                 const Where* where) {
  put('{');
  STOWAGE_TRY_VOID(put_members(message, bytes, where));
  close('}');
  return {};
}

Status ProtobufJson::put_members(const ProtobufMessage& message, std::string_view bytes,
                                 const Where* where) {
  const std::size_t begin = parts_.size();
  // By member: the position after its last part; 0: it has none, or is done.
  std::array<std::uint32_t, ProtobufMessage::kNumbers> last{};
  ProtobufFields fields(bytes);
  for (ProtobufField field; fields.next(field);) {
    const std::uint8_t member = message.find(field.number);
    if (member == ProtobufMessage::kNone) continue;
    if (parts_.size() >= kMaxParts) return wrong(where, "the message has too many fields");
    parts_.push_back({.field = field, .member = member});
    last[member] = static_cast<std::uint32_t>(parts_.size());
  }
  if (fields.broken()) return wrong(where, "malformed protobuf");
  const std::size_t end = parts_.size();
  for (std::size_t i = begin; i < end; ++i) {
    const std::size_t until = std::exchange(last[parts_[i].member], 0U);
    if (until == 0) continue;
    const ProtobufMember& member = message.members[parts_[i].member];
    const ProtobufField field = parts_[until - 1].field;
    const Where here{.outer = where, .name = member.name};
    if (member.shape == Shape::single && is_absent(member, field)) continue;
    if (member.kind != Kind::inlined) put_key(member.name);
    if (member.shape == Shape::list) {
      STOWAGE_TRY_VOID(put_list(member, i, until, here));
    } else if (member.shape == Shape::map) {
      STOWAGE_TRY_VOID(put_map(member, i, until, here));
    } else {
      STOWAGE_TRY_VOID(put_value(member, field, here));
    }
    if (size_ > kMaxObjectBytes) return wrong(where, "the object is too large");
  }
  parts_.resize(begin);
  return {};
}

Status ProtobufJson::put_list(const ProtobufMember& member, std::size_t first, std::size_t last,
                              const Where& where) {
  put('[');
  const std::uint8_t own = parts_[first].member;
  Where element{.outer = &where, .name = {}, .index = 0};
  for (std::size_t i = first; i < last; ++i) {
    if (parts_[i].member != own) continue;
    const ProtobufField field = parts_[i].field;  // a copy, because parts_ may be reallocated
    STOWAGE_TRY_VOID(put_value(member, field, element));
    ++element.index;
  }
  close(']');
  return {};
}

// Each entry is a message: 1 is the key, 2 the value.
Status ProtobufJson::put_map(const ProtobufMember& member, std::size_t first, std::size_t last,
                             const Where& where) {
  put('{');
  const std::uint8_t own = parts_[first].member;
  for (std::size_t i = first; i < last; ++i) {
    if (parts_[i].member != own) continue;
    if (parts_[i].field.wire != Wire::bytes) return wrong(&where, expected(Kind::message));
    std::string_view key;
    ProtobufField value;
    value.wire = Wire::bytes;
    ProtobufFields entry(parts_[i].field.bytes);
    for (ProtobufField field; entry.next(field);) {
      if (field.number == 1) key = field.bytes;
      if (field.number == 2) value = field;
    }
    if (entry.broken()) return wrong(&where, "malformed protobuf");
    put_text(key);
    put(':');
    const Where here{.outer = &where, .name = key};
    STOWAGE_TRY_VOID(put_value(member, value, here));
  }
  close('}');
  return {};
}

Status ProtobufJson::put_value(const ProtobufMember& member, const ProtobufField& field,
                               const Where& where) {
  const bool scalar = member.kind == Kind::number || member.kind == Kind::boolean;
  if (field.wire != (scalar ? Wire::varint : Wire::bytes)) {
    return wrong(&where, expected(member.kind));
  }
  switch (member.kind) {
    case Kind::message: return put_message(*member.message, field.bytes, &where);
    case Kind::inlined: return put_members(*member.message, field.bytes, where.outer);
    default: return put_scalar(member, field, where);
  }
}

Status ProtobufJson::put_scalar(const ProtobufMember& member, const ProtobufField& field,
                                const Where& where) {
  if (member.kind == Kind::text) {
    put_text(field.bytes);
  } else if (member.kind == Kind::boolean) {
    put(field.integer != 0 ? std::string_view("true") : std::string_view("false"));
  } else if (member.kind == Kind::number) {
    constexpr std::size_t kDigits = 20;
    char* begin = room(kDigits);
    char* end = std::to_chars(begin, begin + kDigits, static_cast<std::int64_t>(field.integer)).ptr;
    size_ += static_cast<std::size_t>(end - begin);
  } else {
    std::string_view amount = "0";
    std::uint64_t seconds = 0;
    ProtobufFields parts(field.bytes);
    for (ProtobufField part; parts.next(part);) {
      if (part.number != 1) continue;
      amount = part.bytes;
      seconds = part.integer;
    }
    if (parts.broken()) return wrong(&where, "malformed protobuf");
    if (member.kind == Kind::quantity) {
      put_text(amount);
    } else {
      const auto time = base::rfc3339_chars(std::clamp(
          static_cast<std::int64_t>(seconds), base::kFirstTimeSecond, base::kEndTimeSecond - 1));
      put_text({time.data(), time.size()});
    }
  }
  put(',');
  return {};
}

void ProtobufJson::grow(std::size_t bytes) {
  out_.resize(std::max(2 * out_.size(), size_ + bytes + 4096));
}

void ProtobufJson::put(std::string_view text) {
  std::memcpy(room(text.size()), text.data(), text.size());
  size_ += text.size();
}

void ProtobufJson::put_key(std::string_view name) {
  char* to = room(name.size() + 3);
  to[0] = '"';
  std::memcpy(to + 1, name.data(), name.size());
  to[name.size() + 1] = '"';
  to[name.size() + 2] = ':';
  size_ += name.size() + 3;
}

void ProtobufJson::put_text(std::string_view text) {
  const std::size_t plain = plain_length(text);
  char* to = room(plain + 2);
  to[0] = '"';
  if (plain > 0) std::memcpy(to + 1, text.data(), plain);
  to[plain + 1] = '"';
  size_ += plain + 2;
  if (plain < text.size()) put_rest_of_text(text.substr(plain));
}

// Overwrites the closing quote of the text.
void ProtobufJson::put_rest_of_text(std::string_view text) {
  --size_;
  while (!text.empty()) {
    const std::size_t whole = std::max<std::size_t>(base::utf8_length(text), 1);
    put(base::json_escaped(text.substr(0, whole)));
    text.remove_prefix(whole);
    const std::size_t plain = plain_length(text);
    put(text.substr(0, plain));
    text.remove_prefix(plain);
  }
  put('"');
}

void ProtobufJson::close(char bracket) {
  if (out_[size_ - 1] == ',') --size_;
  char* to = room(2);
  to[0] = bracket;
  to[1] = ',';
  size_ += 2;
}

}  // namespace stowage::codec
