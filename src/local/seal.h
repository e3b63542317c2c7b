// Makes a stored object of a tree: puts its identity in, serialises it once and takes out what
// selectors look at.
#pragma once

#include <cstdint>

#include "local/store.h"

namespace stowage::local {

// Moves nothing out of `object`; its apiVersion, kind, metadata.name, .namespace and
// .resourceVersion are overridden by the arguments.
[[nodiscard]] ObjectPtr seal(Kind kind, const ObjectName& name, const json::object& object,
                             std::uint64_t version);

// True if the two differ in nothing but metadata.resourceVersion and the order of members.
[[nodiscard]] bool same_but_version(const StoredObject& a, const StoredObject& b);

}  // namespace stowage::local
