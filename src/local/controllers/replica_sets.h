// Keeps the number of pods that each ReplicaSet wants: creates and deletes pods, adopts matching
// pods without an owner, releases pods that no longer match, and counts them in its status.
#pragma once

#include <map>
#include <set>
#include <string>

#include "local/api.h"
#include "local/controllers/pod_index.h"
#include "local/controllers/work_queue.h"
#include "local/controllers/workload.h"

namespace stowage::local {

class ReplicaSets {
 public:
  // All of them outlive it.
  ReplicaSets(Api& api, WorkQueue& queue, PodIndex& pods);

 private:
  struct Set {
    ObjectName name;
    LabelSelector selector;          // never changes
    std::set<ObjectName> strangers;  // own pods that may no longer match
    std::set<ObjectName> to_adopt;   // pods that matched when they had no owner
  };

  void upsert(const WatchEvent& event);
  void upsert_pod(const PodFacts* now, const PodFacts* before);
  void look(const ObjectName& name);
  void fit_owners(const ObjectPtr& set);
  void scale(const ObjectPtr& set, const json::object& tree, std::string& trouble);
  void add_pods(const ObjectPtr& set, const json::object& tree, std::int64_t count,
                std::string& trouble);
  void remove_pods(const std::string& uid, std::int64_t count);
  // How long to wait before more pods are created, because some have just failed.
  [[nodiscard]] std::chrono::microseconds rest_after_failures(const std::string& uid);
  void report(const ObjectPtr& set, const json::object& tree, const std::string& trouble);

  Api& api_;
  WorkQueue& queue_;
  PodIndex& pods_;
  WorkList work_;
  std::map<std::string, Set> sets_;  // by uid
  Watch watch_;
};

}  // namespace stowage::local
