// What the features of a run (features.h) add to its plan: more nodes, pods and steps. Some are
// short scenarios, because the errors that they look for need several steps in the right order.
#pragma once

#include "plan.h"

namespace stowage::faults {

void add_chapters(Plan& plan);

}  // namespace stowage::faults
