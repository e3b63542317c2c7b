// Passes the agents' reports to the active ledger: the cards of pods, the load of cards, which
// agents are silent, and which device plugins are not registered. Runs on the controller's loop.
//
// A batch may be under way while its node is deleted: reports on nodes that the cluster cache does
// not have are dropped. The hub sends them again when the node appears (Hub::set_cards).
#pragma once

#include <string>
#include <vector>

#include "base/instant.h"
#include "controller/node_publisher.h"
#include "net/event_loop.h"
#include "reports/report_batcher.h"
#include "scheduler/cluster_cache.h"
#include "scheduler/event_queue.h"

namespace stowage::controller {

struct ReportTarget {
  scheduler::ClusterCache& cluster_cache;
  scheduler::EventQueue& event_queue;
  NodePublisher* publisher = nullptr;  // told which nodes have a device plugin
};

struct ReportTimes {
  base::Instant engine_now;
  net::Moment now;
  net::Duration load_counts;  // for how long after its measurement
};

void apply_reports(const std::vector<reports::NodeUpdate>& batch, const ReportTimes& times,
                   ReportTarget to);

// The cluster no longer has the node. The engine forgets its load without this.
void forget_reports(const std::string& node, ReportTarget to);

}  // namespace stowage::controller
