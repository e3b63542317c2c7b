// All controllers of a local cluster. Garbage collection and the deletion of a namespace's contents
// are in the API itself.
#pragma once

#include "local/api.h"
#include "local/controllers/budgets.h"
#include "local/controllers/deployments.h"
#include "local/controllers/jobs.h"
#include "local/controllers/node_lifecycle.h"
#include "local/controllers/pod_index.h"
#include "local/controllers/replica_sets.h"
#include "local/controllers/work_queue.h"

namespace stowage::local {

class Controllers {
 public:
  Controllers(Api& api, WorkQueue& queue, const NodeLifecycleOptions& nodes)
      : pods_(api.store()),
        replica_sets_(api, queue, pods_),
        deployments_(api, queue),
        jobs_(api, queue, pods_),
        budgets_(api, queue, pods_),
        nodes_(api, queue, pods_, nodes) {}

 private:
  PodIndex pods_;
  ReplicaSets replica_sets_;
  Deployments deployments_;
  Jobs jobs_;
  Budgets budgets_;
  NodeLifecycle nodes_;
};

}  // namespace stowage::local
