#include "local/conform.h"

#include <cstdint>
#include <limits>
#include <string_view>

#include <fmt/core.h>

#include "base/base64.h"
#include "base/quantity.h"
#include "local/wall_time.h"

namespace stowage::local {
namespace {

constexpr std::size_t kAnythingDepthMax = 32;
constexpr std::size_t kUnknownMax = 32;  // a longer list does not help

std::string_view json_kind(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null: return "null";
    case json::kind::bool_: return "bool";
    case json::kind::string: return "string";
    case json::kind::array: return "array";
    case json::kind::object: return "object";
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_: break;
  }
  return "number";
}

std::string_view go_type(const SchemaField& field) {
  switch (field.type) {
    case FieldType::text: return "string";
    case FieldType::int32: return "int32";
    case FieldType::int64: return "int64";
    case FieldType::boolean: return "bool";
    case FieldType::number: return "float64";
    case FieldType::bytes: return "[]uint8";
    case FieldType::quantity: return "resource.Quantity";
    case FieldType::time: return "v1.Time";
    case FieldType::micro_time: return "v1.MicroTime";
    case FieldType::int_or_text: return "intstr.IntOrString";
    case FieldType::anything: return "any";
    case FieldType::message: break;
  }
  return field.message->name;
}

bool fits_int32(std::int64_t value) {
  return value >= std::numeric_limits<std::int32_t>::min() &&
         value <= std::numeric_limits<std::int32_t>::max();
}

// True if the value has more than `depth` levels. Looks no deeper than that.
bool too_deep(const json::value& value, std::size_t depth) {
  if (const json::object* object = value.if_object()) {
    for (const auto& member : *object) {
      if (depth == 0 || too_deep(member.value(), depth - 1)) return true;
    }
  } else if (const json::array* list = value.if_array()) {
    for (const json::value& element : *list) {
      if (depth == 0 || too_deep(element, depth - 1)) return true;
    }
  }
  return false;
}

class Walk {
 public:
  Findings findings;

  void object(json::object& object, const Message& message) {
    std::vector<std::string> drop;
    for (auto& member : object) {
      const std::string_view key = member.key();
      const SchemaField* field = message.find(key);
      if (field == nullptr) {
        if (findings.unknown.size() < kUnknownMax) findings.unknown.push_back(path_to(key));
        drop.emplace_back(key);
        continue;
      }
      if (member.value().is_null()) {
        drop.emplace_back(key);
        continue;
      }
      owner_ = message.name;
      const std::size_t mark = path_.size();
      enter(key);
      shaped(member.value(), *field);
      path_.resize(mark);
      if (!findings.error.empty()) return;
    }
    for (const std::string& key : drop) object.erase(key);
  }

 private:
  void enter(std::string_view key) {
    if (!path_.empty()) path_ += '.';
    path_ += key;
  }
  [[nodiscard]] std::string path_to(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  }

  void shaped(json::value& value, const SchemaField& field) {
    if (field.shape == FieldShape::single) {
      single(value, field);
    } else if (field.shape == FieldShape::list) {
      json::array* elements = value.if_array();
      if (elements == nullptr) return wrong(value, field);
      list(*elements, field);
    } else {
      json::object* members = value.if_object();
      if (members == nullptr) return wrong(value, field);
      for (auto& member : *members) {
        if (member.value().is_null() && field.type == FieldType::text) member.value() = "";
        single(member.value(), field);
        if (!findings.error.empty()) return;
      }
    }
  }

  void list(json::array& elements, const SchemaField& field) {
    const std::size_t mark = path_.size();
    for (std::size_t i = 0; i < elements.size() && findings.error.empty(); ++i) {
      path_ += fmt::format("[{}]", i);
      if (elements[i].is_null() && field.type == FieldType::message) elements[i].emplace_object();
      single(elements[i], field);
      path_.resize(mark);
    }
  }

  void single(json::value& value, const SchemaField& field) {
    switch (field.type) {
      case FieldType::message:
        if (json::object* object_value = value.if_object())
          return object(*object_value, *field.message);
        return wrong(value, field);
      case FieldType::text:
        if (!value.is_string()) wrong(value, field);
        return;
      case FieldType::int32:
      case FieldType::int64: return whole(value, field);
      case FieldType::boolean:
        if (!value.is_bool()) wrong(value, field);
        return;
      case FieldType::number:
        if (!value.is_number()) wrong(value, field);
        return;
      case FieldType::bytes:
        if (!value.is_string()) return wrong(value, field);
        if (!base::base64_decode(text_of(value), base::Base64Blanks::refuse)) {
          findings.error = "illegal base64 data in " + plain_path();
        }
        return;
      case FieldType::quantity: return quantity(value, field);
      case FieldType::time:
      case FieldType::micro_time: return time(value, field);
      case FieldType::int_or_text:
        if (!value.is_string()) whole(value, field);
        return;
      case FieldType::anything:
        if (too_deep(value, kAnythingDepthMax))
          findings.error = plain_path() + " is nested too deep";
        return;
    }
  }

  void whole(const json::value& value, const SchemaField& field) {
    const std::int64_t* number = value.if_int64();
    const bool narrow = field.type != FieldType::int64;
    if (number == nullptr || (narrow && !fits_int32(*number))) wrong(value, field);
  }

  void quantity(json::value& value, const SchemaField& field) {
    if (value.is_number()) {
      const double* real = value.if_double();
      const std::string text = real == nullptr ? json::serialize(value) : fmt::format("{}", *real);
      value = json::string(text);
    }
    if (!value.is_string()) return wrong(value, field);
    if (!base::Quantity::parse(text_of(value))) {
      findings.error =
          "quantities must match the regular expression "
          "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
      value_note(value);
    }
  }

  void time(const json::value& value, const SchemaField& field) {
    if (!value.is_string()) return wrong(value, field);
    if (!text_of(value).empty() && !parse_time(text_of(value))) {
      findings.error = fmt::format(
          "parsing time \"{}\" as \"2006-01-02T15:04:05Z07:00\": cannot parse", text_of(value));
    }
  }

  void value_note(const json::value& value) {
    findings.error += fmt::format(" ({} is \"{}\")", plain_path(), text_of(value));
  }

  void wrong(const json::value& value, const SchemaField& field) {
    const bool list = field.shape == FieldShape::list && !path_.ends_with(']');
    std::string what(json_kind(value));
    if (what == "number") what.append(1, ' ').append(json::serialize(value));
    findings.error =
        fmt::format("json: cannot unmarshal {} into Go struct field {}.{} of type {}{}", what,
                    owner_, plain_path(), list ? "[]" : "", go_type(field));
  }

  // The path without list indexes, as the decoder of the API writes it.
  [[nodiscard]] std::string plain_path() const {
    std::string plain;
    bool inside = false;
    for (const char c : path_) {
      if (c == '[') inside = true;
      if (!inside) plain += c;
      if (c == ']') inside = false;
    }
    return plain;
  }

  std::string path_;
  std::string_view owner_;
};

}  // namespace

Findings conform(json::object& object, const Message& message) {
  Walk walk;
  walk.object(object, message);
  return std::move(walk.findings);
}

}  // namespace stowage::local
