// Cards by what kGpusAnnotation says of them.
#pragma once

#include "dialect/dialect.h"

namespace stowage::dialect {

// Behind the cards of the node, those that the pod names and the node lacks.
void add_absent_cards(const PodObject& object, core::NodeSpec& node);

}  // namespace stowage::dialect
