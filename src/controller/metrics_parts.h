// Parts of render_metrics() that live in a file of their own.
#pragma once

#include "base/exposition.h"
#include "controller/metrics.h"

namespace stowage::controller {

template <typename T>
[[nodiscard]] double as_double(T value) {
  return static_cast<double>(value);
}

// The cards of the cluster: how much is given out, what still fits, what nobody can have.
void card_metrics(const core::Survey& survey, base::Exposition& out);
// What kubelets and agents say of pods and nodes.
void agent_metrics(const MetricsInput& input, base::Exposition& out);
void metrics_api_metrics(const MetricsInput& input, base::Exposition& out);

}  // namespace stowage::controller
