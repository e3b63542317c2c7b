// What the agent tells Prometheus about the cards of its node, and about itself.
#pragma once

#include <string>
#include <vector>

#include "agent/pod_devices.h"
#include "agent/podresources_watcher.h"
#include "agent/reporter.h"
#include "agent/sampler.h"
#include "agent/uplink.h"

namespace stowage::agent {

struct AgentMetrics {
  const CardsPicture& cards;
  const std::vector<PodDevices>& pods;
  double sampled_seconds_ago = 0;
  // Null: there is none.
  const Reporter::Picture* reporter = nullptr;
  const Uplink::Picture* uplink = nullptr;
  const Contact* kubelet = nullptr;
};

[[nodiscard]] std::string render_metrics(const AgentMetrics& input);

}  // namespace stowage::agent
