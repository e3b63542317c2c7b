// Rolls out Deployments: one ReplicaSet for each template. The newest is scaled up and the older
// ones down, within the limits of the strategy. Status and conditions are as `kubectl rollout
// status` reads them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "local/api.h"
#include "local/controllers/rollout.h"
#include "local/controllers/work_queue.h"
#include "local/controllers/workload.h"

namespace stowage::local {

class Deployments {
 public:
  Deployments(Api& api, WorkQueue& queue);  // both outlive it

 private:
  struct Sets;
  struct Progress {  // the numbers that a rollout changes, and when they last changed
    std::vector<std::int64_t> numbers;
    WallTime since;
    WallTime look_at;  // for the deadline; one look is planned at a time
    bool complete = false;
  };

  void upsert(const WatchEvent& event);
  void upsert_set(const WatchEvent& event);
  void look(const ObjectName& name);
  [[nodiscard]] Sets sets_of(const ObjectPtr& deployment, const json::object& tree);
  [[nodiscard]] ObjectPtr make_set(const ObjectPtr& deployment, const json::object& tree,
                                   const std::string& hash);
  void count_collision(const ObjectPtr& deployment);
  void number_revision(const ObjectPtr& deployment, const json::object& tree, const Sets& sets);
  void roll(const RolloutWish& wish, const Sets& sets);
  void set_replicas(const RolloutSet& set, std::int64_t replicas);
  void forget_history(const json::object& tree, const Sets& sets);
  void report(const ObjectPtr& deployment, const json::object& tree, const RolloutWish& wish,
              const Sets& sets);
  void report_progress(const ObjectPtr& deployment, const json::object& tree, const Sets& sets,
                       json::object& status);

  Api& api_;
  WorkQueue& queue_;
  WorkList work_;
  std::map<std::string, ObjectName> names_;                          // by uid
  std::map<std::string, std::map<ObjectName, ObjectPtr>> children_;  // sets by owner's uid
  std::map<std::string, Progress> progress_;                         // by uid
  Watch watch_;
  Watch set_watch_;
};

}  // namespace stowage::local
