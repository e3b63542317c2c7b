// Runs Jobs to completion: keeps the requested number of pods, replaces failed pods up to the
// limit, and sets the conditions.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "local/api.h"
#include "local/controllers/pod_index.h"
#include "local/controllers/work_queue.h"
#include "local/controllers/workload.h"

namespace stowage::local {

class Jobs {
 public:
  Jobs(Api& api, WorkQueue& queue, PodIndex& pods);  // all of them outlive it

 private:
  // The outcome of a job's pods so far, including deleted pods.
  struct Tally {
    ObjectName name;
    std::set<std::string> succeeded;  // uids
    std::set<std::string> failed;     // uids
    std::set<std::int64_t> indexes;   // completed indexes of an indexed job
    WallTime last_failure;
  };
  struct Spec;

  void upsert(const WatchEvent& event);
  void upsert_pod(const PodFacts* now);
  void look(const ObjectName& name);
  // True if the job continues.
  [[nodiscard]] bool conclude(const ObjectPtr& job, const json::object& tree, const Spec& spec,
                              const Tally& tally);
  void run(const ObjectPtr& job, const json::object& tree, const Spec& spec, const Tally& tally);
  void add_pods(const ObjectPtr& job, const json::object& tree, const Spec& spec,
                const Tally& tally, std::int64_t count);
  void stop_pods(const std::string& uid, std::int64_t keep);
  void report(const ObjectPtr& job, const Spec& spec, const Tally& tally);
  struct Verdict {
    std::string_view type;  // Complete or Failed
    std::string_view reason;
    std::string_view message;
  };
  void end(const ObjectPtr& job, const Tally& tally, const Verdict& verdict);
  void remove_after_end(const ObjectPtr& job, const json::object& tree);

  Api& api_;
  WorkQueue& queue_;
  PodIndex& pods_;
  WorkList work_;
  std::map<std::string, Tally> jobs_;  // by uid
  Watch watch_;
};

}  // namespace stowage::local
