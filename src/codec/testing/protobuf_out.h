// Writes protobuf, for tests of the readers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stowage::codec::testing {

[[nodiscard]] inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7U) out += static_cast<char>((value & 0x7fU) | 0x80U);
  out += static_cast<char>(value);
  return out;
}

// A string or a message.
[[nodiscard]] inline std::string bytes(std::uint32_t number, std::string_view content) {
  return varint(number << 3U | 2U) + varint(content.size()) + std::string(content);
}

[[nodiscard]] inline std::string integer(std::uint32_t number, std::uint64_t value) {
  return varint(number << 3U) + varint(value);
}

// An object in the envelope of Kubernetes.
[[nodiscard]] inline std::string envelope(std::string_view kind, std::string_view message) {
  return std::string("k8s\0", 4) + bytes(1, bytes(1, "v1") + bytes(2, kind)) + bytes(2, message) +
         bytes(3, "") + bytes(4, "");
}

// The content of a watch frame; the object is in its envelope.
[[nodiscard]] inline std::string watch_event(std::string_view type, std::string_view object) {
  return bytes(1, type) + bytes(2, bytes(1, object));
}

[[nodiscard]] inline std::string frame(std::string_view content) {
  std::string out;
  for (unsigned shift = 32; shift > 0; shift -= 8) {
    out += static_cast<char>((content.size() >> (shift - 8)) & 0xffU);
  }
  return out.append(content);
}

}  // namespace stowage::codec::testing
