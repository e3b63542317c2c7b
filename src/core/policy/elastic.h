// Compatibility with elastic-gpu-scheduler: its search over all assignments of containers to cards,
// and its rating. Kept so that users can compare placements. Unlike in the original, containers
// without GPU are ignored.
#pragma once

#include <optional>

#include "core/place/containers.h"
#include "core/policy/cost.h"

namespace stowage::core {

// The best rated assignment; the last in search order among equals. Unset if none exists within
// the search limit, or if the shape has init containers or topology requests.
[[nodiscard]] std::optional<PlacedContainers> place_elastic(const JudgeContext& context,
                                                            const Shape& shape,
                                                            const NodeView& node);

// The difference between the fullest and the emptiest card after the placement (MiB and percent
// added up, halved), divided by the number of cards that single-card containers use, plus one.
[[nodiscard]] std::int64_t elastic_rating(const Trial& trial);

}  // namespace stowage::core
