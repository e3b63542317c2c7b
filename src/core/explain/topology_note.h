// Says where cards are worse connected than the pod wished. A strict wish is never answered so.
#pragma once

#include <string>

#include "core/model/node.h"
#include "core/model/pod.h"

namespace stowage::core {

// Empty if all wishes are met, or nothing is known about the node's links. Requires: the assignment
// is for the pod, its cards are the node's.
[[nodiscard]] std::string topology_note(const PodSpec& pod, const NodeSpec& node,
                                        const Assignment& cards);

}  // namespace stowage::core
