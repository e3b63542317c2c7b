// Metrics of the controller for Prometheus.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/heap.h"
#include "controller/hub.h"
#include "controller/leadership.h"
#include "controller/node_publisher.h"
#include "extender/extender.h"
#include "extender/forwarder.h"
#include "kube/api_client.h"
#include "kube/delegated_auth.h"
#include "scheduler/scheduler.h"

namespace stowage::controller {

struct ExtenderSnapshot {
  std::string name;
  extender::Extender::Counters counters;
  extender::Forwarder::Counters forwarded;
  std::uint64_t waited = 0;  // requests that waited until they could be answered
  std::vector<scheduler::QueueFill> queues;
};

// State of configuration reloads.
struct ReloadSnapshot {
  std::uint64_t reloads = 0;   // configurations that took effect after the first
  std::uint64_t failures = 0;  // texts that were rejected
  bool newest = true;          // the current file is in effect
};

struct MetricsInput {
  const scheduler::Scheduler::Snapshot& scheduler;
  const kube::ApiCounters& api;
  const std::vector<ExtenderSnapshot>& extenders;
  Leadership::Snapshot leadership;
  ReloadSnapshot reload;
  kube::DelegatedAuth::Counters auth;
  std::optional<HeapSnapshot> heap;
  std::optional<Hub::Snapshot> agents;
  NodePublisher::Counters publisher;
  bool ready = false;
};

[[nodiscard]] std::string render_metrics(const MetricsInput& input);

}  // namespace stowage::controller
