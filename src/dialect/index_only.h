// Annotations that have the indexes of a pod's cards, but not their ids.
#pragma once

#include "dialect/objects.h"

namespace stowage::dialect {

// True if read_answer() (dialect.h) reads the cards of this pod from such annotations.
[[nodiscard]] bool has_indexes_only(const PodObject& object);

}  // namespace stowage::dialect
