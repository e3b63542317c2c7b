// Fragmentation gradient descent (Weng et al., USENIX ATC'23), exactly as published.
//
// The fragmentation of a node is the GPU share that a typical pod could not use there, averaged
// over the typical pods. FGD places a pod where the fragmentation grows least. The published
// scheduler floors a sigmoid of the difference to 0..100 and breaks ties by a fixed node order.
// Most of its strength comes from that rounding, and the order of the floating-point sums affects
// some floors, so both are kept unchanged.
#pragma once

#include <vector>

#include "core/policy/cost.h"

namespace stowage::core {

struct FgdModel {
  struct Target {
    std::int64_t cpu_milli = 0;
    std::int32_t milli = 0;
    std::int32_t cards = 0;
    double frequency = 0;
    std::vector<std::uint8_t> model_ok;  // by model number; empty: any
  };
  std::vector<Target> targets;
};

[[nodiscard]] FgdModel make_fgd_model(const std::vector<TypicalPod>& typical, const Ledger& ledger);

[[nodiscard]] std::int64_t fgd_score(const Trial& trial);
[[nodiscard]] std::int64_t fgd_card_score(const CardTrial& trial, std::size_t card);

}  // namespace stowage::core
