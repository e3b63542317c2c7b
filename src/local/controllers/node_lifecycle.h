// The life cycle of nodes and its effect on pods: a node whose kubelet is silent becomes Unknown,
// conditions become taints, taints evict pods when their toleration ends, and pods of deleted nodes
// are removed.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "local/api.h"
#include "local/controllers/pod_index.h"
#include "local/controllers/work_queue.h"
#include "local/controllers/workload.h"

namespace stowage::local {

struct NodeLifecycleOptions {
  std::chrono::microseconds silence = std::chrono::seconds{5};  // until a node is Unknown
  // How long pods stay on a node that is not ready if they have no toleration for that.
  std::chrono::microseconds patience = std::chrono::seconds{30};
  std::chrono::microseconds lost = std::chrono::seconds{2};  // until pods of a deleted node go
  std::size_t ended_pods_max = 12'500;
};

struct Taint {
  std::string key;
  std::string value;
  std::string effect;
  std::optional<WallTime> added;
  friend bool operator==(const Taint&, const Taint&) = default;
};

// The taints that follow from the node's conditions and from spec.unschedulable.
[[nodiscard]] std::vector<Taint> taints_by_state(const json::object& node);
// True if taints_by_state() may return a taint with this key.
[[nodiscard]] bool is_state_taint(std::string_view key);

// Until when a pod may stay on a node with these taints; unset: for ever. `patience` applies to
// pods without a toleration for not-ready and unreachable. Requires: NoExecute taints have
// timeAdded.
[[nodiscard]] std::optional<WallTime> may_stay_until(const json::object& pod,
                                                     const std::vector<Taint>& taints,
                                                     std::chrono::microseconds patience);

class NodeLifecycle {
 public:
  // All of them outlive it.
  NodeLifecycle(Api& api, WorkQueue& queue, PodIndex& pods, const NodeLifecycleOptions& options);

 private:
  void upsert(const WatchEvent& event);
  void upsert_pod(const PodFacts* now, const PodFacts* before);
  void look(const ObjectName& name);
  void set_unknown(const ObjectName& name);
  // Updates the taints that follow from the node's state and returns all taints.
  [[nodiscard]] std::vector<Taint> settle_taints(const ObjectPtr& node, const json::object& tree);
  void drive_away(const std::string& node, std::vector<Taint> taints);
  void evict(const ObjectPtr& pod);
  void remove_lost(const std::string& node);
  void remove_ended();

  Api& api_;
  WorkQueue& queue_;
  PodIndex& pods_;
  NodeLifecycleOptions options_;
  WorkList work_;
  std::map<std::string, WallTime> silent_;  // silent nodes, and since when
  // Nodes with NoExecute taints.
  struct Repelling {
    std::map<std::string, WallTime> since;  // by key of the taint, if it has no timeAdded
    WallTime look_at;                       // the next check of the pods; one is planned at a time
  };
  std::map<std::string, Repelling> repelling_;
  Watch watch_;
};

}  // namespace stowage::local
