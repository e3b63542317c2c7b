// Only for the sources of Api: the object that a call changes.
#pragma once

#include <utility>

#include "local/api.h"

namespace stowage::local {

struct Api::Current {
  explicit Current(ObjectPtr stored)
      : object(std::move(stored)), arena(object->bytes.size() * 8), tree(object->tree(&arena)) {}

  // For trees that live as long as this object.
  [[nodiscard]] json::storage_ptr memory() const { return tree.storage(); }

  ObjectPtr object;
  json::monotonic_resource arena;
  json::object tree;
};

}  // namespace stowage::local
