#include "core/engine/deferred_steps.h"

namespace stowage::core {

void DeferredSteps::defer(Step step) {
  const auto same = [&](const Step& other) {
    return other.fresh() && other.kind == step.kind && other.node == step.node;
  };
  if (step.fresh() && std::any_of(steps_.begin(), steps_.end(), same)) return;
  steps_.push_back(std::move(step));
}

}  // namespace stowage::core
