// Warns if cards are connected worse than the pod asked for. This cannot happen with a strict
// request.
#pragma once

#include <string>

#include "core/model/node.h"
#include "core/model/pod.h"

namespace stowage::core {

// Empty if all requests are met, or if the node's links are unknown. Requires: the assignment
// belongs to the pod, and its cards to the node.
[[nodiscard]] std::string topology_note(const PodSpec& pod, const NodeSpec& node,
                                        const Assignment& cards);

}  // namespace stowage::core
