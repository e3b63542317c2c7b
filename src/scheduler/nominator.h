// Writes into status.nominatedNodeName of a pod where room is kept for it, for people, for
// autoscalers and for other schedulers. The newest wins: at most one call per pod is under way, and
// what a newer one replaced is never sent. One thread, the loop's.
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
#include "scheduler/roster.h"

namespace stowage::scheduler {

class Nominator {
 public:
  struct Ends {  // all outlive the nominator
    Roster& roster;
    kube::ObjectAccess& objects;
    kube::EventRecorder& recorder;
    base::Log& log;
  };
  explicit Nominator(Ends ends);
  ~Nominator();
  Nominator(const Nominator&) = delete;
  Nominator& operator=(const Nominator&) = delete;

  void nominate(const core::Nominate& command);

  struct Counters {
    std::uint64_t written = 0;
    std::uint64_t replaced = 0;  // by newer ones before they were sent
    std::uint64_t failed = 0;    // given up
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  struct Pod {
    std::string ns;
    std::string name;
    std::optional<std::string> next;  // node to be written after the call that is under way
  };
  void send(const std::string& uid, const std::string& node);
  void replied(const std::string& uid, const kube::ObjectOutcome& outcome);
  void tell(const core::Nominate& command, const Pod& pod);

  Ends ends_;
  Counters counters_;
  std::unordered_map<std::string, Pod> under_way_;  // by uid
  std::shared_ptr<bool> alive_;
};

}  // namespace stowage::scheduler
