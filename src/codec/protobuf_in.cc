#include "codec/protobuf_in.h"

namespace stowage::codec {

std::uint64_t ProtobufFields::long_varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  broken_ = true;
  return 0;
}

std::uint64_t ProtobufFields::fixed(std::size_t size) {
  const std::string_view bytes = run(size);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return value;
}

std::string_view protobuf_bytes(std::string_view message, std::uint32_t number) {
  std::string_view found;
  ProtobufFields fields(message);
  for (ProtobufField field; fields.next(field);) {
    if (field.number == number && field.wire == ProtobufField::Wire::bytes) found = field.bytes;
  }
  return found;
}

}  // namespace stowage::codec
