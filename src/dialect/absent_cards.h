// Cards that only kGpusAnnotation describes.
#pragma once

#include "dialect/dialect.h"

namespace stowage::dialect {

// Appends to the node's cards those that the pod names and the node lacks.
void add_absent_cards(const PodObject& object, core::NodeSpec& node);

}  // namespace stowage::dialect
