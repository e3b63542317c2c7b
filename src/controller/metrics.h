// What the controller counts, for Prometheus.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/heap.h"
#include "controller/hub.h"
#include "controller/leadership.h"
#include "extender/extender.h"
#include "extender/forwarder.h"
#include "kube/api_client.h"
#include "kube/gatekeeper.h"
#include "scheduler/scheduler.h"

namespace stowage::controller {

struct ExtenderPicture {
  std::string name;
  extender::Extender::Counters counters;
  extender::Forwarder::Counters forwarded;
  std::uint64_t waited = 0;  // questions, for somebody who can answer
  std::vector<scheduler::QueueFill> queues;
};

// How the configuration got in force that is.
struct ReloadPicture {
  std::uint64_t reloads = 0;   // put in force after the first
  std::uint64_t failures = 0;  // texts that could not be
  bool newest = true;          // what the file says is what is in force
};

struct MetricsInput {
  const scheduler::Scheduler::Picture& scheduler;
  const kube::ApiCounters& api;
  const std::vector<ExtenderPicture>& extenders;
  Leadership::Picture leadership;
  ReloadPicture reload;
  kube::Gatekeeper::Counters gate;
  std::optional<HeapPicture> heap;
  std::optional<Hub::Picture> agents;
  bool ready = false;
};

[[nodiscard]] std::string render_metrics(const MetricsInput& input);

}  // namespace stowage::controller
