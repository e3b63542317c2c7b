// Reads untrusted JSON: forward only, in one pass, without a tree. A JsonText owns the bytes and
// the parser; values and fields are positions in it. Parts that a reader does not read are skipped
// without validation, which is very cheap. Brackets are counted, not trusted, and there is no
// recursion by the depth of the text.
//
// Every error names the location: "spec.containers[2].resources.limits: expected an object".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stowage::codec {

// The location of a value in the text. Frames are on the stack of the readers, innermost first.
struct Where {
  const Where* outer = nullptr;
  std::string_view name;      // of a field
  std::ptrdiff_t index = -1;  // of an element
  [[nodiscard]] std::string text() const;
};

class JsonFields;
class JsonElements;

// A value that has not been read yet. It can be read once, before the next field or element. Copies
// refer to the same position.
class JsonValue {
 public:
  enum class Kind : std::uint8_t { object, array, string, number, boolean, null };

  // The kind by the first character. Does not read the value.
  [[nodiscard]] Kind kind();
  // Texts are valid until the JsonText is opened again.
  [[nodiscard]] Result<std::string_view> text();
  // A number as written.
  [[nodiscard]] Result<std::string_view> number();
  [[nodiscard]] Result<std::int64_t> integer();
  [[nodiscard]] Result<bool> boolean();
  // The whole object, as it is in the opened text.
  [[nodiscard]] Result<std::string_view> raw_object();
  [[nodiscard]] Result<JsonFields> fields();
  [[nodiscard]] Result<JsonElements> elements();

  // An error about this value: its location, then the message.
  [[nodiscard]] tl::unexpected<Error> wrong(std::string_view words) const;

  Where where;

 private:
  friend class JsonFields;
  friend class JsonElements;
  [[nodiscard]] tl::unexpected<Error> wrong(int code, std::string_view expected) const;
  alignas(8) std::array<std::byte, 24> place_{};
};

// The fields of an object, in the order of the text. Null fields are skipped: null means absent.
class JsonFields {
 public:
  // Moves to the next field; false at the end.
  [[nodiscard]] Result<bool> next();
  [[nodiscard]] std::string_view key() const { return key_; }
  [[nodiscard]] JsonValue& value() { return value_; }
  // The whole object, as it is in the opened text. Requires: next() has returned false, nothing was
  // read since, and the object is not the outermost one.
  [[nodiscard]] Result<std::string_view> raw() const;

 private:
  friend class JsonValue;
  friend class JsonText;
  [[nodiscard]] tl::unexpected<Error> wrong(int code) const;
  alignas(8) std::array<std::byte, 32> place_{};
  const Where* where_ = nullptr;
  JsonValue* whole_ = nullptr;  // the value to which these fields belong
  const char* begin_ = nullptr;
  bool started_ = false;
  std::string_view key_;
  JsonValue value_;
};

// The elements of an array. A null is an element.
class JsonElements {
 public:
  [[nodiscard]] Result<bool> next();
  [[nodiscard]] JsonValue& value() { return value_; }

 private:
  friend class JsonValue;
  alignas(8) std::array<std::byte, 32> place_{};
  const Where* where_ = nullptr;
  bool started_ = false;
  JsonValue value_;
};

// One text at a time; the buffers are reused. Not thread-safe.
class JsonText {
 public:
  JsonText();
  JsonText(JsonText&&) noexcept;
  JsonText& operator=(JsonText&&) noexcept;
  ~JsonText();

  // The text must be one object. Invalidates everything from the previous text.
  [[nodiscard]] Result<JsonFields> open(std::string_view text, std::size_t max_bytes);
  // The same without a copy. The text is padded for the parser, so it may be reallocated; it must
  // not change while it is read.
  [[nodiscard]] Result<JsonFields> open_in_place(std::string& text, std::size_t max_bytes);
  // Call it after the last field: nothing may follow the object.
  [[nodiscard]] Status close();
  // The same characters in the text that was passed to open(); `part` is a view from this JsonText.
  [[nodiscard]] std::string_view given(std::string_view part) const;

 private:
  struct State;
  [[nodiscard]] Result<JsonFields> start(std::string& bytes);
  std::unique_ptr<State> state_;
};

// Calls each(key, value) for every field of the value, which must be an object.
template <typename Each>
[[nodiscard]] Status each_field(JsonFields& fields, Each&& each) {
  for (;;) {
    STOWAGE_TRY(more, fields.next());
    if (!more) return {};
    STOWAGE_TRY_VOID(each(fields.key(), fields.value()));
  }
}

template <typename Each>
[[nodiscard]] Status each_field(JsonValue& value, Each&& each) {
  STOWAGE_TRY(fields, value.fields());
  return each_field(fields, each);
}

// Calls each(value) for every element of the value, which must be an array.
template <typename Each>
[[nodiscard]] Status each_element(JsonValue& value, Each&& each) {
  STOWAGE_TRY(elements, value.elements());
  for (;;) {
    STOWAGE_TRY(more, elements.next());
    if (!more) return {};
    STOWAGE_TRY_VOID(each(elements.value()));
  }
}

// Reads the value into a variable of its type.
[[nodiscard]] Status read(JsonValue& value, std::string& out);
[[nodiscard]] Status read(JsonValue& value, bool& out);
[[nodiscard]] Status read(JsonValue& value, std::int32_t& out);
[[nodiscard]] Status read(JsonValue& value, std::int64_t& out);

}  // namespace stowage::codec
