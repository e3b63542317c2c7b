// The life of pods on their nodes, for the kubelets of all nodes: a queue of tasks with an injected
// clock. Pure: the caller writes (local_kubelets.h directly, remote_kubelets.h over HTTP).
//
//   bound, Pending --start_after--> start --(plan.run_for)--> finish
//        deleted, in any phase --(plan.stop_after)--> remove
//
// Nothing happens on a node that is down; its due tasks run when it is up again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "local/kubelet/pod_status.h"
#include "local/store.h"
#include "local/wall_time.h"

namespace stowage::local {

enum class KubeletAction : std::uint8_t {
  start,   // admit it, and set it Running or Failed
  finish,  // set it Succeeded or Failed
  remove,  // delete it without grace period
};

struct KubeletTask {
  KubeletAction action = KubeletAction::start;
  ObjectName pod;
  std::string uid;
  std::string node;
  int exit_code = 0;  // of finish
};

// The part of a pod's state that its kubelet needs.
struct PodNews {
  ObjectName name;
  std::string uid;
  std::string node;  // "": not bound yet
  std::string phase;
  bool deleting = false;
  // How it will behave; called only when needed.
  std::function<PodPlan()> plan;
};

class Kubelets {
 public:
  explicit Kubelets(const KubeletOptions& options) : options_(options) {}

  void upsert(const PodNews& pod, WallTime now);
  void gone(const std::string& uid);

  // Nodes are down until node_up().
  void node_up(const std::string& node, WallTime now);
  void node_down(const std::string& node);
  [[nodiscard]] bool is_up(const std::string& node) const { return up_.contains(node); }

  // When take_due() has something; unset if nothing is planned.
  [[nodiscard]] std::optional<WallTime> next() const;
  // The tasks that are due, the earliest first, at most that many. A task is returned again only
  // after again().
  [[nodiscard]] std::vector<KubeletTask> take_due(WallTime now, std::size_t most);

  // The task is done; plans what follows without waiting for the watch. `plan` is that of a start.
  void done(const KubeletTask& task, const PodPlan& plan, WallTime now);
  // The task failed; it is due again at `when`, unless the pod has gone.
  void again(const KubeletTask& task, WallTime when);

 private:
  enum class Next : std::uint8_t { start, finish, remove, nothing };
  struct Pod {
    ObjectName name;
    std::string node;
    Next next = Next::nothing;
    int exit_code = 0;
    bool started = false;  // its plan is known
    WallTime due;
    bool queued = false;
  };
  using Pods = std::map<std::string, Pod>;  // by uid

  void plan_next(Pods::iterator pod, Next next, WallTime due);
  void unqueue(Pods::iterator pod);

  KubeletOptions options_;
  Pods pods_;
  std::set<std::pair<WallTime, std::string>> queue_;        // uids by time
  std::map<std::string, std::vector<std::string>> parked_;  // uids of pods whose node is down
  std::set<std::string> up_;
};

}  // namespace stowage::local
