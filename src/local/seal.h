// Makes a stored object from a tree: sets its identity, serialises it once and extracts what
// selectors read.
#pragma once

#include <cstdint>

#include "local/store.h"

namespace stowage::local {

// Does not change `object`. Its apiVersion, kind, metadata.name, .namespace and .resourceVersion
// are replaced by the arguments.
[[nodiscard]] ObjectPtr seal(Kind kind, const ObjectName& name, const json::object& object,
                             std::uint64_t version);

// True if they differ only in metadata.resourceVersion and the order of members.
[[nodiscard]] bool same_but_version(const StoredObject& a, const StoredObject& b);

}  // namespace stowage::local
