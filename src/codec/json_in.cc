#include "codec/json_in.h"

#include <limits>
#include <new>
#include <simdjson.h>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace stowage::codec {
namespace {

namespace on_demand = simdjson::ondemand;
using ObjectPlace = simdjson::simdjson_result<on_demand::object_iterator>;
using ArrayPlace = simdjson::simdjson_result<on_demand::array_iterator>;

// The parser's own types stay out of our headers; they are stored as bytes.
template <typename T, std::size_t N>
T& as(std::array<std::byte, N>& bytes) {
  static_assert(sizeof(T) <= N && alignof(T) <= 8);
  static_assert(std::is_trivially_destructible_v<T> && std::is_trivially_copyable_v<T>);
  return *std::launder(reinterpret_cast<T*>(bytes.data()));
}

template <typename T, std::size_t N>
void put(std::array<std::byte, N>& bytes, T place) {
  static_assert(sizeof(T) <= N);
  new (bytes.data()) T(std::move(place));
}

std::string_view in_words(simdjson::error_code code) {
  switch (code) {
    case simdjson::EMPTY: return "the text is empty";
    case simdjson::UTF8_ERROR: return "the text is not UTF-8";
    case simdjson::UNCLOSED_STRING: return "a string has no end";
    case simdjson::UNESCAPED_CHARS: return "a string has a control character";
    case simdjson::STRING_ERROR: return "a string has a malformed escape";
    case simdjson::NUMBER_ERROR: return "a number is malformed or out of range";
    case simdjson::MEMALLOC: return "there is not enough memory to read it";
    default: return "malformed JSON";
  }
}

bool blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// Skipping counts brackets but not their kind, so the end of an object must be checked.
bool is_closed(std::string_view object) {
  return object.starts_with('{') && object.ends_with('}') && object.size() > 1;
}

}  // namespace

struct JsonText::State {
  on_demand::parser parser;
  std::string bytes;  // a copy of the text, with the padding that the parser needs
  on_demand::document document;
  std::string_view read;   // the text that is parsed: the copy, or the caller's
  std::string_view given;  // the caller's text
};

std::string Where::text() const {
  std::string before = outer == nullptr ? "" : outer->text();
  if (index >= 0) return fmt::format("{}[{}]", before, index);
  // Messages quote untrusted input: a key may be as long as the text.
  constexpr std::size_t kMaxShown = 64;
  const std::string_view shown = name.substr(0, kMaxShown);
  if (before.empty()) return std::string(shown);
  return fmt::format("{}.{}", before, shown);
}

tl::unexpected<Error> JsonValue::wrong(std::string_view words) const {
  return fail(fmt::format("{}: {}", where.text(), words));
}

tl::unexpected<Error> JsonValue::wrong(int code, std::string_view expected) const {
  if (code == simdjson::INCORRECT_TYPE) return wrong(fmt::format("expected {}", expected));
  return wrong(in_words(static_cast<simdjson::error_code>(code)));
}

JsonValue::Kind JsonValue::kind() {
  on_demand::json_type type{};
  // An invalid value is reported when it is read.
  if (as<on_demand::value>(place_).type().get(type) != simdjson::SUCCESS) return Kind::null;
  switch (type) {
    case on_demand::json_type::object: return Kind::object;
    case on_demand::json_type::array: return Kind::array;
    case on_demand::json_type::string: return Kind::string;
    case on_demand::json_type::number: return Kind::number;
    case on_demand::json_type::boolean: return Kind::boolean;
    case on_demand::json_type::null: return Kind::null;
  }
  return Kind::null;
}

Result<std::string_view> JsonValue::text() {
  std::string_view out;
  const auto code = as<on_demand::value>(place_).get_string().get(out);
  if (code != simdjson::SUCCESS) return wrong(code, "a string");
  return out;
}

Result<std::string_view> JsonValue::number() {
  auto& value = as<on_demand::value>(place_);
  const std::string_view token = trimmed(value.raw_json_token());
  double checked = 0;
  const auto code = value.get_double().get(checked);
  if (code != simdjson::SUCCESS) return wrong(code, "a number");
  return token;
}

Result<std::int64_t> JsonValue::integer() {
  std::int64_t out = 0;
  const auto code = as<on_demand::value>(place_).get_int64().get(out);
  if (code != simdjson::SUCCESS) return wrong(simdjson::INCORRECT_TYPE, "a whole number");
  return out;
}

Result<bool> JsonValue::boolean() {
  bool out = false;
  const auto code = as<on_demand::value>(place_).get_bool().get(out);
  if (code != simdjson::SUCCESS) return wrong(code, "true or false");
  return out;
}

Result<std::string_view> JsonValue::raw_object() {
  on_demand::object object;
  auto code = as<on_demand::value>(place_).get_object().get(object);
  std::string_view out;
  if (code == simdjson::SUCCESS) code = object.raw_json().get(out);
  if (code != simdjson::SUCCESS) return wrong(code, "an object");
  out = trimmed(out);
  if (!is_closed(out)) return wrong("malformed JSON");
  return out;
}

Result<JsonFields> JsonValue::fields() {
  on_demand::object object;
  const char* begin = as<on_demand::value>(place_).raw_json_token().data();
  const auto code = as<on_demand::value>(place_).get_object().get(object);
  if (code != simdjson::SUCCESS) return wrong(code, "an object");
  JsonFields fields;
  fields.where_ = &where;
  fields.whole_ = this;
  fields.begin_ = begin;
  put(fields.place_, object.begin());
  return fields;
}

Result<JsonElements> JsonValue::elements() {
  on_demand::array array;
  const auto code = as<on_demand::value>(place_).get_array().get(array);
  if (code != simdjson::SUCCESS) return wrong(code, "an array");
  JsonElements elements;
  elements.where_ = &where;
  elements.value_.where.index = -1;
  put(elements.place_, array.begin());
  return elements;
}

tl::unexpected<Error> JsonFields::wrong(int code) const {
  const std::string place = where_ == nullptr ? "" : where_->text();
  const auto words = in_words(static_cast<simdjson::error_code>(code));
  return fail(place.empty() ? std::string(words) : fmt::format("{}: {}", place, words));
}

Result<bool> JsonFields::next() {
  auto& place = as<ObjectPlace>(place_);
  for (;;) {
    if (started_) ++place;
    started_ = true;
    if (place.error() != simdjson::SUCCESS) return wrong(place.error());
    if (!(place != ObjectPlace())) return false;
    auto field = *place;
    auto code = field.unescaped_key().get(key_);
    if (code != simdjson::SUCCESS) return wrong(code);
    on_demand::value value;
    code = field.value().get(value);
    if (code != simdjson::SUCCESS) return wrong(code);
    value_.where = {.outer = where_, .name = key_};
    bool absent = false;
    code = value.is_null().get(absent);
    put(value_.place_, value);
    if (code != simdjson::SUCCESS) return value_.wrong("malformed JSON");
    if (!absent) return true;
  }
}

Result<std::string_view> JsonFields::raw() const {
  STOWAGE_CHECK(whole_ != nullptr);
  const char* end = nullptr;
  const auto code = as<on_demand::value>(whole_->place_).current_location().get(end);
  if (code != simdjson::SUCCESS) return wrong(code);
  const auto whole = trimmed({begin_, static_cast<std::size_t>(end - begin_)});
  if (!is_closed(whole)) return wrong(simdjson::TAPE_ERROR);
  return whole;
}

Result<bool> JsonElements::next() {
  auto& place = as<ArrayPlace>(place_);
  if (started_) ++place;
  started_ = true;
  value_.where = {.outer = where_, .index = value_.where.index + 1};
  auto code = place.error();
  if (code == simdjson::SUCCESS && !(place != ArrayPlace())) return false;
  on_demand::value value;
  if (code == simdjson::SUCCESS) code = (*place).get(value);
  if (code != simdjson::SUCCESS) return value_.wrong(in_words(code));
  put(value_.place_, value);
  return true;
}

JsonText::JsonText() : state_(std::make_unique<State>()) {}
JsonText::JsonText(JsonText&&) noexcept = default;
JsonText& JsonText::operator=(JsonText&&) noexcept = default;
JsonText::~JsonText() = default;

namespace {

Status check_size(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return {};
  return fail(fmt::format("the text has {} bytes; the limit is {}", text.size(), max_bytes));
}

}  // namespace

Result<JsonFields> JsonText::open(std::string_view text, std::size_t max_bytes) {
  STOWAGE_TRY_VOID(check_size(text, max_bytes));
  auto& bytes = state_->bytes;
  bytes.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  bytes.assign(text);
  state_->given = text;
  return start(bytes);
}

Result<JsonFields> JsonText::open_in_place(std::string& text, std::size_t max_bytes) {
  STOWAGE_TRY_VOID(check_size(text, max_bytes));
  text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  state_->given = text;
  return start(text);
}

Result<JsonFields> JsonText::start(std::string& bytes) {
  state_->read = bytes;
  JsonFields fields;
  const simdjson::padded_string_view padded(bytes.data(), bytes.size(), bytes.capacity());
  auto code = state_->parser.iterate(padded).get(state_->document);
  if (code != simdjson::SUCCESS) return fields.wrong(code);
  on_demand::object object;
  code = state_->document.get_object().get(object);
  if (code == simdjson::INCORRECT_TYPE) return fail("expected an object");
  if (code != simdjson::SUCCESS) return fields.wrong(code);
  put(fields.place_, object.begin());
  return fields;
}

Status JsonText::close() {
  const char* rest = nullptr;
  if (state_->document.current_location().get(rest) == simdjson::SUCCESS) {
    return fail("unexpected text after the object");
  }
  return {};
}

std::string_view JsonText::given(std::string_view part) const {
  const std::string_view read = state_->read;
  const auto offset = static_cast<std::size_t>(part.data() - read.data());
  STOWAGE_CHECK(offset <= read.size() && part.size() <= read.size() - offset);
  return state_->given.substr(offset, part.size());
}

Status read(JsonValue& value, std::string& out) {
  STOWAGE_TRY(text, value.text());
  out.assign(text);
  return {};
}

Status read(JsonValue& value, bool& out) {
  STOWAGE_TRY_ASSIGN(out, value.boolean());
  return {};
}

Status read(JsonValue& value, std::int64_t& out) {
  STOWAGE_TRY_ASSIGN(out, value.integer());
  return {};
}

Status read(JsonValue& value, std::int32_t& out) {
  STOWAGE_TRY(number, value.integer());
  if (number < std::numeric_limits<std::int32_t>::min() ||
      number > std::numeric_limits<std::int32_t>::max()) {
    return value.wrong(fmt::format("{} is out of range", number));
  }
  out = static_cast<std::int32_t>(number);
  return {};
}

}  // namespace stowage::codec
