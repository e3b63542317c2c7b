// What the features of a run (features.h) add to its plan: further nodes, pods and steps. Some are
// short stories, since what they are after takes several steps in the right order.
#pragma once

#include "plan.h"

namespace stowage::faults {

void add_chapters(Plan& plan);

}  // namespace stowage::faults
