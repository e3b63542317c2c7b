#include "local/schema.h"

#include <algorithm>

#include "base/check.h"
#include "base/number.h"
#include "base/text.h"

namespace stowage::local {
namespace {

constexpr std::string_view kBlanks = " \n";

// Cuts off and returns the text before the first `mark`; all of it if none exists.
std::string_view cut(std::string_view& text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  const std::string_view head = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + mark.size());
  return head;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

FieldType plain_type(std::string_view code) {
  STOWAGE_CHECK(code.size() == 1);
  switch (code.front()) {
    case 's': return FieldType::text;
    case 'i': return FieldType::int32;
    case 'l': return FieldType::int64;
    case 'b': return FieldType::boolean;
    case 'd': return FieldType::number;
    case 'y': return FieldType::bytes;
    case 'q': return FieldType::quantity;
    case 't': return FieldType::time;
    case 'u': return FieldType::micro_time;
    case 'x': return FieldType::int_or_text;
    default: STOWAGE_CHECK(code == "*"); return FieldType::anything;
  }
}

using Messages = std::map<std::string_view, std::unique_ptr<Message>>;

Message& message_named(Messages& messages, std::string_view name) {
  auto& place = messages[name];
  if (place == nullptr) {
    place = std::make_unique<Message>();
    place->name = name;
  }
  return *place;
}

void read_type(Messages& messages, std::string_view code, SchemaField& field) {
  if (code.ends_with('?')) {
    field.pointer = true;
    code.remove_suffix(1);
  }
  field.inlined = take(code, "=");
  field.retain_keys = take(code, "~");
  field.replace = take(code, "!");
  if (take(code, "{}")) {
    field.shape = FieldShape::map;
  } else if (take(code, "[")) {
    field.shape = FieldShape::list;
    field.merge_key = cut(code, "]");
  }
  if (code.size() > 1) {
    field.type = FieldType::message;
    field.message = &message_named(messages, code);
  } else {
    field.type = plain_type(code);
  }
}

SchemaField read_field(Messages& messages, std::string_view text) {
  SchemaField field;
  const auto number = base::parse_number<std::uint32_t>(cut(text, " "));
  STOWAGE_CHECK(number.has_value());
  field.number = *number;
  if (!text.starts_with('=')) field.name = cut(text, " ");
  read_type(messages, text, field);
  return field;
}

void collect(const Message& from, std::vector<const SchemaField*>& into) {
  for (const SchemaField& field : from.fields) {
    if (field.inlined) {
      collect(*field.message, into);
    } else {
      into.push_back(&field);
    }
  }
}

}  // namespace

const SchemaField* Message::find(std::string_view field) const {
  const auto at = std::lower_bound(
      by_name.begin(), by_name.end(), field,
      [](const SchemaField* one, std::string_view key) { return one->name < key; });
  return at != by_name.end() && (*at)->name == field ? *at : nullptr;
}

const SchemaField* Message::find_number(std::uint32_t number) const {
  if (number == 0) return nullptr;
  for (const SchemaField& field : fields) {
    if (field.number == number) return &field;
  }
  return nullptr;
}

Schema::Schema() {
  std::string_view text = schema_text();
  while (!base::trim(text, kBlanks).empty()) {
    // A message continues while lines are indented.
    std::size_t end = text.find('\n', text.find_first_not_of(kBlanks));
    while (end + 1 < text.size() && text[end + 1] == ' ') end = text.find('\n', end + 1);
    std::string_view body = base::trim(text.substr(0, end), kBlanks);
    text.remove_prefix(end + 1);
    Message& message = message_named(messages_, cut(body, ":"));
    STOWAGE_CHECK(message.fields.empty());
    while (!body.empty())
      message.fields.push_back(read_field(messages_, base::trim(cut(body, ","), kBlanks)));
  }
  for (auto& [name, message] : messages_) {
    STOWAGE_CHECK(!message->fields.empty());
    collect(*message, message->by_name);
    std::sort(message->by_name.begin(), message->by_name.end(),
              [](const SchemaField* a, const SchemaField* b) { return a->name < b->name; });
  }
}

const Message* Schema::message(std::string_view name) const {
  const auto found = messages_.find(name);
  return found == messages_.end() ? nullptr : found->second.get();
}

const Message& Schema::of(Kind kind) const {
  const Message* found = message(resource_of(kind).kind);
  STOWAGE_CHECK(found != nullptr);
  return *found;
}

}  // namespace stowage::local
