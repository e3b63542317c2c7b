// Writes status.nominatedNodeName, the node where capacity is kept for a pod, for users,
// autoscalers and other schedulers. The newest value wins: at most one call per pod is under way,
// and a value that was replaced is never sent. Runs on the loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/log.h"
#include "core/model/event.h"
#include "kube/event_recorder.h"
#include "kube/object_access.h"
#include "scheduler/cluster_cache.h"

namespace stowage::scheduler {

class Nominator {
 public:
  struct Deps {  // all outlive the nominator
    ClusterCache& cluster_cache;
    kube::ObjectAccess& objects;
    kube::EventRecorder& recorder;
    base::Log& log;
  };
  explicit Nominator(Deps deps);
  ~Nominator();
  Nominator(const Nominator&) = delete;
  Nominator& operator=(const Nominator&) = delete;

  void nominate(const core::Nominate& command);

  struct Counters {
    std::uint64_t written = 0;
    std::uint64_t replaced = 0;  // replaced by newer ones before they were sent
    std::uint64_t failed = 0;    // given up
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  struct Pod {
    std::string ns;
    std::string name;
    std::optional<std::string> next;  // node to write after the call that is under way
  };
  void send(const std::string& uid, const std::string& node);
  void replied(const std::string& uid, const kube::ObjectOutcome& outcome);
  void record_event(const core::Nominate& command, const Pod& pod);

  Deps deps_;
  Counters counters_;
  std::unordered_map<std::string, Pod> under_way_;  // by uid
  std::shared_ptr<bool> alive_;
};

}  // namespace stowage::scheduler
