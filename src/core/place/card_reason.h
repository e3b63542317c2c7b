// Why the cards of a node do not hold one container of a pod.
#pragma once

#include "core/place/judge.h"

namespace stowage::core {

// Considers free capacity and kind of card as if the container were alone; code none if the cards
// can hold it.
[[nodiscard]] Reason why_part_does_not_fit(const JudgeContext& context, const GpuPart& part,
                                           const NodeView& node);

}  // namespace stowage::core
