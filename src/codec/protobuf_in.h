// Reads untrusted protobuf: the fields of one message in order, without copying. Lengths are
// checked against the remaining bytes; unknown fields are skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stowage::codec {

struct ProtobufField {
  enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
  std::uint32_t number = 0;
  Wire wire = Wire::varint;
  std::uint64_t integer = 0;  // for a varint, or the bits of a fixed-size number
  std::string_view bytes;     // a string, bytes or a message
};

class ProtobufFields {
 public:
  explicit ProtobufFields(std::string_view message) : rest_(message) {}

  // False at the end, and for a malformed message: a length beyond the end, an unterminated number,
  // a field with the number 0, a group.
  [[nodiscard]] bool next(ProtobufField& field) {
    if (rest_.empty() || broken_) return false;
    const std::uint64_t tag = varint();
    field.number = static_cast<std::uint32_t>(tag >> 3U);
    field.wire = static_cast<ProtobufField::Wire>(tag & 7U);
    field.integer = 0;
    field.bytes = {};
    switch (field.wire) {
      case ProtobufField::Wire::bytes: field.bytes = run(varint()); break;
      case ProtobufField::Wire::varint: field.integer = varint(); break;
      case ProtobufField::Wire::fixed64: field.integer = fixed(8); break;
      case ProtobufField::Wire::fixed32: field.integer = fixed(4); break;
      default: broken_ = true;
    }
    if (field.number == 0 || tag > kTagMax) broken_ = true;
    return !broken_;
  }
  [[nodiscard]] bool broken() const { return broken_; }

  // The next number of a packed list, which has no tags.
  [[nodiscard]] std::uint64_t varint() {
    if (!rest_.empty() && static_cast<unsigned char>(rest_.front()) < 0x80) {
      const auto value = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      return value;
    }
    return long_varint();
  }

 private:
  static constexpr std::uint64_t kTagMax = 0xffffffff;

  [[nodiscard]] std::uint64_t long_varint();
  [[nodiscard]] std::uint64_t fixed(std::size_t size);
  [[nodiscard]] std::string_view run(std::uint64_t size) {
    if (size > rest_.size()) {
      broken_ = true;
      return {};
    }
    const std::string_view bytes = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(static_cast<std::size_t>(size));
    return bytes;
  }

  std::string_view rest_;
  bool broken_ = false;
};

// The last field with this number that has bytes; empty if none exists or if the message is
// malformed before it.
[[nodiscard]] std::string_view protobuf_bytes(std::string_view message, std::uint32_t number);

}  // namespace stowage::codec
