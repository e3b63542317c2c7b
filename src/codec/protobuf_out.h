// Writes protobuf: the fields of one message, in order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace stowage::codec {

class ProtobufWriter {
 public:
  // A string, bytes or a message.
  ProtobufWriter& bytes(std::uint32_t number, std::string_view content) {
    varint(std::uint64_t{number} << 3U | 2U);
    varint(content.size());
    out_ += content;
    return *this;
  }
  ProtobufWriter& integer(std::uint32_t number, std::uint64_t value) {
    varint(std::uint64_t{number} << 3U);
    varint(value);
    return *this;
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) out_ += static_cast<char>((value & 0x7fU) | 0x80U);
    out_ += static_cast<char>(value);
  }

  std::string out_;
};

}  // namespace stowage::codec
