// The output of what-if: for people, or for programs.
#pragma once

#include <string>

#include "client/what_if.h"

namespace stowage::client {

// A list with one object for each pod: pod, node (null: none), containers with their cards,
// annotations, labels, reason (empty: placed), condition (the reason of PodScheduled=False).
[[nodiscard]] std::string to_json(const WhatIf& result);
[[nodiscard]] std::string to_yaml(const WhatIf& result);  // as to_json()

// Pod, node and cards, or the reason, and a summary line.
[[nodiscard]] std::string to_table(const WhatIf& result);

}  // namespace stowage::client
