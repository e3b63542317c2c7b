#include "client/tree.h"

#include <utility>

#include "base/text.h"
#include "codec/fields.h"
#include "codec/json_in.h"

namespace stowage::client {
namespace {

using codec::JsonValue;

constexpr int kMaxDepth = 50;

Result<Tree> read_tree(JsonValue& value, int depth);

Status read_object(codec::JsonFields& fields, int depth, Tree& out) {
  out.kind = Tree::Kind::object;
  return codec::each_field(fields, [&](std::string_view key, JsonValue& value) -> Status {
    std::string name(key);
    STOWAGE_TRY(tree, read_tree(value, depth + 1));
    out.fields.push_back({.key = std::move(name), .value = std::move(tree)});
    return {};
  });
}

Status read_array(JsonValue& value, int depth, Tree& out) {
  out.kind = Tree::Kind::array;
  return codec::each_element(value, [&](JsonValue& element) -> Status {
    STOWAGE_TRY(tree, read_tree(element, depth + 1));
    out.elements.push_back(std::move(tree));
    return {};
  });
}

Result<Tree> read_tree(JsonValue& value, int depth) {
  if (depth > kMaxDepth) return value.wrong("too deep");
  Tree out;
  switch (value.kind()) {
    case JsonValue::Kind::object: {
      STOWAGE_TRY(fields, value.fields());
      STOWAGE_TRY_VOID(read_object(fields, depth, out));
      break;
    }
    case JsonValue::Kind::array: STOWAGE_TRY_VOID(read_array(value, depth, out)); break;
    case JsonValue::Kind::string: {
      out.kind = Tree::Kind::text;
      STOWAGE_TRY_VOID(codec::read(value, out.scalar));
      break;
    }
    case JsonValue::Kind::number: {
      STOWAGE_TRY(digits, value.number());
      out = Tree::number(std::string(digits));
      break;
    }
    case JsonValue::Kind::boolean: {
      STOWAGE_TRY(truth, value.boolean());
      out.kind = Tree::Kind::truth;
      out.scalar = truth ? "true" : "false";
      break;
    }
    case JsonValue::Kind::null: break;
  }
  return out;
}

}  // namespace

bool same_key(std::string_view a, std::string_view b) { return base::equals_ignoring_case(a, b); }

const Tree* Tree::find(std::string_view key) const {
  for (const auto& [name, value] : fields) {
    if (same_key(name, key)) return &value;
  }
  return nullptr;
}

std::string Tree::text_at(std::string_view key) const {
  const Tree* found = find(key);
  return found != nullptr && found->kind == Kind::text ? found->scalar : std::string();
}

Tree Tree::text(std::string words) {
  Tree tree;
  tree.kind = Kind::text;
  tree.scalar = std::move(words);
  return tree;
}

Tree Tree::number(std::string digits) {
  Tree tree;
  tree.kind = Kind::number;
  tree.scalar = std::move(digits);
  return tree;
}

Result<Tree> parse_tree(std::string_view json) {
  codec::JsonText text;
  STOWAGE_TRY(fields, text.open(json, codec::kMaxObjectBytes));
  Tree tree;
  STOWAGE_TRY_VOID(read_object(fields, 0, tree));
  STOWAGE_TRY_VOID(text.close());
  return tree;
}

}  // namespace stowage::client
