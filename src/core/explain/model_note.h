// Says where a pod got a card of a model that it may not have meant: "a10" is a part of "A100".
#pragma once

#include <string>

#include "core/model/node.h"
#include "core/model/pod.h"

namespace stowage::core {

// Empty if every model was named whole, or as a word of its own. Requires: the assignment is for
// the pod, its cards are the node's.
[[nodiscard]] std::string model_note(const PodSpec& pod, const NodeSpec& node,
                                     const Assignment& cards);

}  // namespace stowage::core
