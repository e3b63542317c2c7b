// HTTP/2 frames made by hand, valid or not, for tests of readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stowage::grpc::testing {

inline constexpr std::uint8_t kData = 0;
inline constexpr std::uint8_t kHeaders = 1;
inline constexpr std::uint8_t kReset = 3;
inline constexpr std::uint8_t kSettings = 4;
inline constexpr std::uint8_t kPush = 5;
inline constexpr std::uint8_t kPing = 6;
inline constexpr std::uint8_t kGoaway = 7;
inline constexpr std::uint8_t kWindow = 8;
inline constexpr std::uint8_t kContinuation = 9;

inline constexpr std::uint8_t kAck = 1;
inline constexpr std::uint8_t kEndStream = 1;
inline constexpr std::uint8_t kEndHeaders = 4;

inline constexpr std::string_view kMagic = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

using Fields = std::vector<std::pair<std::string, std::string>>;

// Big-endian.
[[nodiscard]] inline std::string number(std::uint64_t value, unsigned bytes) {
  std::string out;
  for (unsigned shift = 8 * bytes; shift > 0; shift -= 8) {
    out += static_cast<char>((value >> (shift - 8)) & 0xffU);
  }
  return out;
}

struct FrameHead {
  std::uint8_t type = 0;
  std::uint8_t flags = 0;
  std::uint32_t stream = 0;
};
[[nodiscard]] inline std::string frame(const FrameHead& head, std::string_view payload) {
  return number(payload.size(), 3) + number(head.type, 1) + number(head.flags, 1) +
         number(head.stream, 4) + std::string(payload);
}

// A length with a prefix of seven bits.
[[nodiscard]] inline std::string length(std::size_t value) {
  std::string out;
  if (value < 127) return {static_cast<char>(value)};
  out += '\x7f';
  for (value -= 127; value >= 128; value /= 128) out += static_cast<char>(value % 128 + 128);
  return out += static_cast<char>(value);
}

// Headers as literals without indexing.
[[nodiscard]] inline std::string block(const Fields& fields) {
  std::string out;
  for (const auto& [name, value] : fields) {
    out += '\0';
    out.append(length(name.size())).append(name).append(length(value.size())).append(value);
  }
  return out;
}

[[nodiscard]] inline std::string headers(std::uint32_t stream, const Fields& fields,
                                         std::uint8_t flags = 0) {
  return frame({kHeaders, static_cast<std::uint8_t>(flags | kEndHeaders), stream}, block(fields));
}
[[nodiscard]] inline std::string data(std::uint32_t stream, std::string_view bytes,
                                      std::uint8_t flags = 0) {
  return frame({kData, flags, stream}, bytes);
}
[[nodiscard]] inline std::string settings() { return frame({kSettings, 0, 0}, {}); }
[[nodiscard]] inline std::string reset(std::uint32_t stream, std::uint32_t error) {
  return frame({kReset, 0, stream}, number(error, 4));
}
[[nodiscard]] inline std::string goaway(std::uint32_t last, std::uint32_t error,
                                        std::string_view words = {}) {
  return frame({kGoaway, 0, 0}, number(last, 4) + number(error, 4) + std::string(words));
}
[[nodiscard]] inline std::string ping() { return frame({kPing, 0, 0}, "12345678"); }

// A gRPC message.
[[nodiscard]] inline std::string message(std::string_view content, char compressed = '\0') {
  return compressed + number(content.size(), 4) + std::string(content);
}

// The preface of a client, and a valid request.
[[nodiscard]] inline std::string hello() { return std::string(kMagic) + settings(); }
[[nodiscard]] inline Fields request_fields(const std::string& method = "/t.S/M") {
  return {{":method", "POST"},
          {":scheme", "http"},
          {":path", method},
          {":authority", "localhost"},
          {"content-type", "application/grpc"},
          {"te", "trailers"}};
}
[[nodiscard]] inline std::string request(std::uint32_t stream, std::string_view content,
                                         const std::string& method = "/t.S/M") {
  return headers(stream, request_fields(method)) + data(stream, message(content), kEndStream);
}

// A valid answer, in parts.
[[nodiscard]] inline Fields answer_fields() {
  return {{":status", "200"}, {"content-type", "application/grpc"}};
}
[[nodiscard]] inline std::string good_end(std::uint32_t stream) {
  return headers(stream, {{"grpc-status", "0"}}, kEndStream);
}
[[nodiscard]] inline std::string answer(std::uint32_t stream, std::string_view content) {
  return headers(stream, answer_fields()) + data(stream, message(content)) + good_end(stream);
}

}  // namespace stowage::grpc::testing
