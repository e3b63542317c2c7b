// Parts of render_metrics() in files of their own.
#pragma once

#include "base/exposition.h"
#include "controller/metrics.h"
#include "core/ledger/survey.h"

namespace stowage::controller {

template <typename T>
[[nodiscard]] double as_double(T value) {
  return static_cast<double>(value);
}

// The cards of the cluster: how much is assigned, what still fits, what is unusable.
void card_metrics(const core::Survey& survey, base::Exposition& out);
// Metrics from kubelets and agents.
void agent_metrics(const MetricsInput& input, base::Exposition& out);
// The metrics API, the admission webhook, and what is published on nodes.
void metrics_api_metrics(const MetricsInput& input, base::Exposition& out);

}  // namespace stowage::controller
