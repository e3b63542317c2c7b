// What the controller counts, for Prometheus.
#pragma once

#include <string>
#include <vector>

#include "extender/extender.h"
#include "kube/api_client.h"
#include "scheduler/scheduler.h"

namespace stowage::controller {

struct ExtenderPicture {
  std::string name;
  extender::Extender::Counters counters;
};

struct MetricsInput {
  const scheduler::Scheduler::Picture& scheduler;
  const kube::ApiCounters& api;
  const std::vector<ExtenderPicture>& extenders;
  bool ready = false;
};

[[nodiscard]] std::string render_metrics(const MetricsInput& input);

}  // namespace stowage::controller
