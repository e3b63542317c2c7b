// The schema of the API's objects: the fields of each message, with type, protobuf number and the
// merge rule of strategic patches. Read from one compact table (schema_table.cc).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "local/resources.h"

namespace stowage::local {

struct Message;

enum class FieldType : std::uint8_t {
  text,
  int32,
  int64,
  boolean,
  number,
  bytes,
  quantity,
  time,
  micro_time,
  int_or_text,
  anything,
  message,
};

enum class FieldShape : std::uint8_t { single, list, map };

struct SchemaField {
  std::string_view name;  // "" if inlined
  std::uint32_t number = 0;
  FieldType type = FieldType::text;
  FieldShape shape = FieldShape::single;
  const Message* message = nullptr;  // of FieldType::message
  bool pointer = false;              // absent differs from zero
  bool inlined = false;
  bool retain_keys = false;
  bool replace = false;
  std::string_view merge_key;  // of a list; "*": a set of plain values; "": replaced as a whole
};

struct Message {
  std::string_view name;
  std::vector<SchemaField> fields;          // as in the table
  std::vector<const SchemaField*> by_name;  // sorted; those of inlined messages too

  [[nodiscard]] const SchemaField* find(std::string_view field) const;
  [[nodiscard]] const SchemaField* find_number(std::uint32_t number) const;
};

class Schema {
 public:
  Schema();
  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;

  [[nodiscard]] const Message* message(std::string_view name) const;  // null if unknown
  [[nodiscard]] const Message& of(Kind kind) const;
  [[nodiscard]] const std::map<std::string_view, std::unique_ptr<Message>>& messages() const {
    return messages_;
  }

 private:
  std::map<std::string_view, std::unique_ptr<Message>> messages_;
};

[[nodiscard]] std::string_view schema_text();

}  // namespace stowage::local
