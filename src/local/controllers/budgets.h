// Computes the status of PodDisruptionBudgets: how many of their pods may be evicted now.
#pragma once

#include <map>

#include "local/api.h"
#include "local/controllers/pod_index.h"
#include "local/controllers/work_queue.h"
#include "local/controllers/workload.h"

namespace stowage::local {

class Budgets {
 public:
  Budgets(Api& api, WorkQueue& queue, PodIndex& pods);  // all of them outlive it

 private:
  void upsert(const WatchEvent& event);
  void upsert_pod(const PodFacts* now, const PodFacts* before);
  void look(const ObjectName& name);

  Api& api_;
  WorkQueue& queue_;
  PodIndex& pods_;
  WorkList work_;
  std::map<ObjectName, LabelSelector> selectors_;
  Watch watch_;
};

}  // namespace stowage::local
