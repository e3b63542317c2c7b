// The policies published beside FGD (USENIX ATC'23), as their simulator computes them: integer
// scores of 0 to 100, higher is better, ties by node rank.
#pragma once

#include "core/policy/cost.h"

namespace stowage::core {

[[nodiscard]] std::int64_t best_fit_score(const Trial& trial);
[[nodiscard]] std::int64_t dot_product_score(const Trial& trial);
[[nodiscard]] std::int64_t gpu_packing_score(const Trial& trial);
[[nodiscard]] std::int64_t gpu_clustering_score(const Trial& trial);

}  // namespace stowage::core
