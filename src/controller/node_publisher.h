// Publishes the quantities of cards (dialect/node_resources.h) in the status of nodes whose agent
// has a device plugin, and removes them when the plugin is gone for good. Only the leader writes.
//
//   every second: nodes with a plugin or a record -> plan -> (nothing to do)
//                                                         -> PATCH nodes/<name>/status
//
// Of many nodes only some are looked at at once, because binds must not wait for it.
//
// Plans are made from the watched nodes, and a write names the version that it was planned on. So
// it replaces no later change: after a conflict the next plan is made when the watch shows the
// node's new state. Each write to a node lengthens the pause before the next one, so two publishers
// of one name do not race each other.
//
// Runs on the controller's loop.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/log.h"
#include "dialect/node_resources.h"
#include "kube/api_client.h"
#include "kube/object_access.h"
#include "kube/pacing.h"
#include "net/event_loop.h"
#include "scheduler/node_cache.h"

namespace stowage::controller {

struct NodePublisherOptions {
  dialect::NodeAmountsOptions amounts;  // without dialects everything is removed
  net::Duration look_every = std::chrono::seconds{1};
  std::size_t nodes_per_look = 200;  // the others follow after a tenth of that time
  // How long a node may have no known plugin, e.g. after a change of the leader.
  net::Duration removed_after = std::chrono::minutes{10};
  net::Duration watch_lag = std::chrono::seconds{30};  // until a write is planned again unseen
  net::Duration pause_min = std::chrono::seconds{1};   // between two writes to a node
  net::Duration pause_max = std::chrono::minutes{5};
  std::size_t in_flight_max = 16;
  double writes_per_second = 20;
  std::uint64_t seed = 1;
};

class NodePublisher {
 public:
  struct Deps {
    kube::ApiClient& client;
    base::Log& log;
    std::function<const scheduler::NodeCache&()> nodes;
    std::function<bool()> leads;
  };
  NodePublisher(NodePublisherOptions options, Deps deps);
  NodePublisher(const NodePublisher&) = delete;
  NodePublisher& operator=(const NodePublisher&) = delete;

  void start();
  void set_amounts(dialect::NodeAmountsOptions amounts) { options_.amounts = std::move(amounts); }
  // Whether the node's agent has a device plugin, registered or not.
  void set_plugin(const std::string& node, bool present);
  void forget(const std::string& node) { plugins_.erase(node); }

  struct Counters {
    std::uint64_t written = 0;
    std::uint64_t conflicts = 0;
    std::uint64_t failures = 0;
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  struct Node {
    explicit Node(const NodePublisherOptions& options)
        : pauses(options.pause_min, options.pause_max, options.seed) {}
    bool under_way = false;
    std::string planned_on;  // the version of the last write
    net::Moment wrote{};
    net::Moment next{};  // not before
    kube::JitteredBackoff pauses;
    std::string complaint;             // last reported error
    std::vector<std::string> foreign;  // last reported names
  };
  void look();
  [[nodiscard]] bool look_at_some();
  [[nodiscard]] std::string candidate_after(const std::string& name) const;
  void forget_old();
  void consider(const std::string& name);
  [[nodiscard]] bool due(const std::string& name, const dialect::NodeOffer& there);
  [[nodiscard]] bool gone_for_good(const std::string& name) const;
  void write(const std::string& name, const dialect::NodeOffer& there,
             const dialect::NodeOfferPlan& plan);
  void written(const std::string& name, const std::string& what,
               const kube::ObjectOutcome& outcome);
  void report_foreign(const std::string& name, const std::vector<std::string>& foreign);

  NodePublisherOptions options_;
  Deps deps_;
  net::EventLoop& loop_;
  std::map<std::string, bool> plugins_;      // nodes whose agents have reported
  std::map<std::string, net::Moment> lost_;  // since when they have none
  std::map<std::string, Node> nodes_;        // that were written to
  std::string looked_at_;                    // the last node of this round; empty: a new one begins
  bool led_ = false;
  net::Moment led_since_{};
  std::size_t in_flight_ = 0;
  kube::TokenBucket bucket_;
  Counters counters_;
  net::Timer timer_;
  kube::ObjectAccess access_;
};

}  // namespace stowage::controller
