// Converts Kubernetes protobuf to the JSON that the API server would have sent, as far as our
// decoders read it, so that one decoder of objects is enough. A table lists these fields; all
// others are skipped at very low cost.
//
// Values that JSON omits are omitted: empty strings, unset times. The last one of a repeated field
// counts; elements of a list are collected wherever they are. Bytes that are not UTF-8 become
// U+FFFD, as in the API server. Times outside RFC 3339 become the nearest valid one. An error names
// the location: "spec.containers[2].name: expected a string".
//
// A pod of 2 KB takes about a microsecond.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json_in.h"
#include "codec/protobuf_in.h"

namespace stowage::codec {

struct ProtobufMessage;

// One field to convert.
struct ProtobufMember {
  enum class Kind : std::uint8_t {
    text,
    number,
    boolean,
    quantity,  // a message with a string
    time,      // a message with seconds since 1970
    message,
    inlined,  // a message whose members are members of the outer one in JSON
  };
  enum class Shape : std::uint8_t { single, list, map };  // map keys are strings

  std::uint32_t number = 0;
  std::string_view name;  // in JSON; must not need escapes
  Kind kind = Kind::text;
  Shape shape = Shape::single;
  const ProtobufMessage* message = nullptr;
};

struct ProtobufMessage {
  static constexpr std::size_t kNumbers = 64;  // higher numbers are not converted
  static constexpr std::uint8_t kNone = 0xff;

  // Tables are compile-time constants: a number that is too high or used twice does not compile.
  explicit consteval ProtobufMessage(std::span<const ProtobufMember> of) : members(of) {
    at.fill(kNone);
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (at.at(of[i].number) != kNone) number_is_used_twice();
      at[of[i].number] = static_cast<std::uint8_t>(i);
    }
  }
  [[nodiscard]] std::uint8_t find(std::uint32_t number) const {
    return number < kNumbers ? at[number] : kNone;
  }

  std::span<const ProtobufMember> members;
  std::array<std::uint8_t, kNumbers> at{};  // by number: the position in members

 private:
  static void number_is_used_twice() {}  // not constexpr, so calling it fails to compile
};

// The supported kinds: "Pod", "Node", "Status". Null for others.
[[nodiscard]] const ProtobufMessage* protobuf_message(std::string_view kind);

// Reuses its buffers. Not thread-safe.
class ProtobufJson {
 public:
  // A JSON object, valid until the next call. Requires: the table does not contain itself.
  [[nodiscard]] Result<std::string_view> text(const ProtobufMessage& message,
                                              std::string_view bytes);

 private:
  struct Part {
    ProtobufField field;
    std::uint8_t member = 0;
  };

  [[nodiscard]] Status put_message(const ProtobufMessage& message, std::string_view bytes,
                                   const Where* where);
  [[nodiscard]] Status put_members(const ProtobufMessage& message, std::string_view bytes,
                                   const Where* where);
  [[nodiscard]] Status put_list(const ProtobufMember& member, std::size_t first, std::size_t last,
                                const Where& where);
  [[nodiscard]] Status put_map(const ProtobufMember& member, std::size_t first, std::size_t last,
                               const Where& where);
  [[nodiscard]] Status put_value(const ProtobufMember& member, const ProtobufField& field,
                                 const Where& where);
  [[nodiscard]] Status put_scalar(const ProtobufMember& member, const ProtobufField& field,
                                  const Where& where);

  void put(char c) {
    *room(1) = c;
    ++size_;
  }
  void put(std::string_view text);
  void put_text(std::string_view text);  // in quotes, escaped
  void put_rest_of_text(std::string_view text);
  void put_key(std::string_view name);
  void close(char bracket);  // replaces the last comma
  [[nodiscard]] char* room(std::size_t bytes) {
    if (out_.size() - size_ < bytes) grow(bytes);
    return out_.data() + size_;
  }
  void grow(std::size_t bytes);

  std::string out_;
  std::size_t size_ = 0;     // used part of out_
  std::vector<Part> parts_;  // of the messages being read, the outermost first
};

}  // namespace stowage::codec
