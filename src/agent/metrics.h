// Metrics of the agent for Prometheus: the cards of its node, and the agent itself.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/node_pods.h"
#include "agent/pod_devices.h"
#include "agent/podresources_watcher.h"
#include "agent/reporter.h"
#include "agent/sampler.h"
#include "agent/uplink.h"
#include "agent/usage.h"
#include "plugin/device_plugin.h"

namespace stowage::agent {

struct AgentMetrics {
  const CardsSnapshot& cards;
  const std::vector<PodDevices>& pods;
  Given given;
  std::vector<Usage> usage;
  std::map<std::string, double> idle_seconds;  // by card, since its last load
  double sampled_seconds_ago = 0;
  // Null: none.
  const Reporter::Snapshot* reporter = nullptr;
  const Uplink::Snapshot* uplink = nullptr;
  const Contact* kubelet = nullptr;
  const plugin::DevicePlugin::Snapshot* plugin = nullptr;
};

[[nodiscard]] std::string render_metrics(const AgentMetrics& input);

}  // namespace stowage::agent
