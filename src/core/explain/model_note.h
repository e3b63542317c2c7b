// Warns if a pod got a card of a model that it may not have meant: "a10" is a part of "A100".
#pragma once

#include <string>

#include "core/model/node.h"
#include "core/model/pod.h"

namespace stowage::core {

// Empty if every requested model matches the full name or a whole word of it. Requires: the
// assignment belongs to the pod, and its cards to the node.
[[nodiscard]] std::string model_note(const PodSpec& pod, const NodeSpec& node,
                                     const Assignment& cards);

}  // namespace stowage::core
