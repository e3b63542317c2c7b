// Executes the engine's commands and turns the results into events: binds, conditions, Kubernetes
// events, evictions, nominations, requests to the outside picker. Runs on the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "core/explain/condition.h"
#include "core/model/event.h"
#include "kube/binder.h"
#include "kube/condition_writer.h"
#include "kube/event_recorder.h"
#include "kube/object_access.h"
#include "kube/pod_access.h"
#include "scheduler/claim_binder.h"
#include "scheduler/cluster_cache.h"
#include "scheduler/event_queue.h"
#include "scheduler/evictor.h"
#include "scheduler/nominator.h"
#include "scheduler/picker.h"

namespace stowage::scheduler {

// A key of Counters::refused_by: pods that were refused before any node was judged.
inline constexpr const char* kRejected = "rejected";

class CommandExecutor {
 public:
  struct Deps {  // all outlive the command executor
    ClusterCache& cluster_cache;
    EventQueue& event_queue;
    kube::Binder& binder;
    kube::EventRecorder& recorder;
    kube::ConditionWriter& conditions;
    kube::PodAccess& pods;
    kube::ObjectAccess& objects;
    net::EventLoop& loop;
    base::Log& log;
    kube::WallClock wall_clock;
    // The current state of a volume claim, by "namespace/name"; null if none exists.
    std::function<const ClaimView*(const std::string&)> claim;
    // Number of pods under way that wait for volumes.
    std::function<void(std::size_t)> on_claims_waiting;
  };
  struct Options {
    ClaimBinderOptions claims;
    const std::vector<Profile>& profiles;  // for their pickers
  };
  CommandExecutor(const Options& options, Deps deps);
  ~CommandExecutor();
  CommandExecutor(const CommandExecutor&) = delete;
  CommandExecutor& operator=(const CommandExecutor&) = delete;

  void execute(const core::Commands& commands);
  // Binds a pod of another scheduler whose cards are reserved. The engine gets the result. `done`
  // gets an error, or an empty text, as soon as there is a reply. If the reply leaves open whether
  // the pod is bound, the bind is still repeated until that is known.
  struct ExternalBind {
    kube::BindRequest ask;
    dialect::Annotations labels;
    std::string warning;     // reported in an event once the pod is bound
    std::string model_note;  // the same
    std::function<void(const std::string& error)> done;
  };
  void bind_external(ExternalBind external);
  void report(const Notice& notice);
  // This replica no longer leads. Requests under way are dropped, callers that bind external pods
  // get an error, and later commands are ignored until lead() is called.
  void stand_down();
  void lead();
  // Call whenever a volume claim appears, changes or is deleted.
  void claim_changed(const std::string& claim) { claims_.claim_changed(claim); }

  struct Counters {
    std::uint64_t refused = 0;    // refusals reported, by the engine and by this class
    std::uint64_t conflicts = 0;  // pods with a share that another pod had before
    std::uint64_t unknown = 0;    // binds that were repeated because their result was unknown
    std::map<std::string, std::uint64_t> refused_by;  // by the name of the dominant reason
    Evictor::Counters evictions;
    Nominator::Counters nominations;
    ClaimBinder::Counters claims;
    std::map<std::string, Picker::Counters> pickers;  // by profile
  };
  [[nodiscard]] Counters counters() const;

 private:
  struct Name {
    std::string ns;
    std::string name;
    std::string uid;
    [[nodiscard]] std::string text() const { return ns + "/" + name; }
  };

  void execute(const core::Bind& bind);
  void execute(const core::Refuse& refuse);
  void execute(const core::Reject& reject);
  void execute(const core::Evict& evict) { evictor_.evict(evict); }
  void execute(const core::Nominate& nominate) { nominator_.nominate(nominate); }
  void execute(const core::AskPicker& ask);
  void execute(const core::CardConflict& conflict);
  // Binds the pod now, or refuses it, by the current state of the pod and the node. `decided`: when
  // its cards were chosen.
  void bind_pod(const core::Bind& bind, std::int64_t decided);
  void claims_failed(const core::Bind& bind, const std::string& why);
  struct BindTask {
    kube::BindRequest ask;
    dialect::Annotations labels;
    std::string warning;
    std::string model_note;
    std::function<void(const std::string&)> on_done;
    bool done_called = false;
  };
  static void drop(BindTask& task);  // of a term that has ended
  void bind(BindTask task);
  void send(BindTask task);
  void bind_ended(BindTask& task, const kube::BindOutcome& outcome);
  void bind_again(BindTask task);
  struct Refused {
    Name pod;
    bool was_false = false;
    core::ConditionReason condition = core::ConditionReason::unschedulable;
    std::string message;
  };
  void refuse(const Refused& refused);
  void record(const Name& pod, kube::EventType type, kube::EventReason reason, std::string note);

  Deps deps_;
  Counters counters_;
  Evictor evictor_;
  Nominator nominator_;
  ClaimBinder claims_;
  std::map<std::uint32_t, std::unique_ptr<Picker>> pickers_;  // by profile
  std::map<std::uint64_t, net::Timer> pauses_;                // for binds that are repeated
  std::uint64_t pause_count_ = 0;
  // Notices about pods from before we led, as after a restart. No other replica may have reported
  // them.
  std::map<std::pair<std::string, Notice::Kind>, Notice> found_before_;
  bool leads_ = true;
  std::shared_ptr<bool> alive_;
};

}  // namespace stowage::scheduler
