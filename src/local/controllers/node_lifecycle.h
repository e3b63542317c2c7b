// What befalls nodes and, with them, their pods: a node whose kubelet is silent becomes Unknown,
// conditions become taints, taints drive pods away when their patience ends, and pods of nodes that
// are no more are removed.
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
  // How long pods stay on a node that is not ready if they do not say so themselves.
  std::chrono::microseconds patience = std::chrono::seconds{30};
  std::chrono::microseconds lost = std::chrono::seconds{2};  // until pods without a node go
  std::size_t ended_pods_max = 12'500;
};

struct Taint {
  std::string key;
  std::string value;
  std::string effect;
  std::optional<WallTime> added;
  friend bool operator==(const Taint&, const Taint&) = default;
};

// The taints that follow from the node's conditions and from its being cordoned.
[[nodiscard]] std::vector<Taint> taints_by_state(const json::object& node);
// True if the key is one of those that taints_by_state() may give.
[[nodiscard]] bool is_state_taint(std::string_view key);

// Until when a pod may stay where these taints are; unset: for ever. `patience` is that of pods
// that do not speak of taints for not being ready. Requires: taints NoExecute say when they were
// added.
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
  // Brings those that follow from the node's state up to date and returns all of them.
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
  std::map<std::string, WallTime> silent_;  // nodes that are marked as failed, since when
  // Nodes with taints NoExecute.
  struct Repelling {
    std::map<std::string, WallTime> since;  // by key of the taint, where it does not say so itself
    WallTime look_at;                       // the next look at the pods; one is planned at a time
  };
  std::map<std::string, Repelling> repelling_;
  Watch watch_;
};

}  // namespace stowage::local
