// What the controller counts, for Prometheus.
#pragma once

#include <string>

#include "kube/api_client.h"
#include "scheduler/scheduler.h"

namespace stowage::controller {

struct MetricsInput {
  const scheduler::Scheduler::Picture& scheduler;
  const kube::ApiCounters& api;
  bool ready = false;
};

[[nodiscard]] std::string render_metrics(const MetricsInput& input);

}  // namespace stowage::controller
