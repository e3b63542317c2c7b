// What the agent tells Prometheus about the cards of its node, and about itself.
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

namespace stowage::agent {

struct AgentMetrics {
  const CardsPicture& cards;
  const std::vector<PodDevices>& pods;
  Given given;
  std::vector<Usage> usage;
  std::map<std::string, double> idle_seconds;  // of cards, since they last worked
  double sampled_seconds_ago = 0;
  // Null: there is none.
  const Reporter::Picture* reporter = nullptr;
  const Uplink::Picture* uplink = nullptr;
  const Contact* kubelet = nullptr;
};

[[nodiscard]] std::string render_metrics(const AgentMetrics& input);

}  // namespace stowage::agent
