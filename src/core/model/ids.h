// Indexes into the ledger's tables. They never leave the engine: people and the API identify nodes,
// cards and pods by name, UUID and UID.
#pragma once

#include "base/strong_id.h"

namespace stowage::core {

using NodeIndex = base::StrongId<struct NodeTag>;
using PodIndex = base::StrongId<struct PodTag>;

}  // namespace stowage::core
