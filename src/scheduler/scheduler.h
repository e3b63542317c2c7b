// The standalone scheduler: watches nodes, pods and auxiliary objects, lets the engine decide, and
// binds.
//
//   informers -> ClusterCache -> EventQueue -> EngineThread (the engine's thread)
//             -> CommandExecutor -> API -> informers
//
// Everything except the engine thread lives on the loop's thread. The class has many members
// because it creates all of these parts and connects them; lifecycle.h decides when they run.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "core/ledger/survey.h"
#include "kube/api_client.h"
#include "kube/binder.h"
#include "kube/condition_writer.h"
#include "kube/event_recorder.h"
#include "kube/object_access.h"
#include "kube/outages.h"
#include "kube/pod_access.h"
#include "kube/reflector.h"
#include "kube/seal.h"
#include "scheduler/aux_informers.h"
#include "scheduler/cluster_cache.h"
#include "scheduler/command_executor.h"
#include "scheduler/engine_thread.h"
#include "scheduler/lifecycle.h"
#include "scheduler/node_source.h"
#include "scheduler/pod_source.h"
#include "scheduler/pre_allocation_reaper.h"
#include "scheduler/profile.h"
#include "scheduler/queue_fill.h"
#include "scheduler/quota_source.h"

namespace stowage::scheduler {

struct SchedulerOptions {
  std::vector<Profile> profiles;
  kube::BinderOptions binder;
  kube::EventRecorderOptions events;
  kube::ReflectorOptions reflector;  // path and selectors are set here
  std::size_t binds_max = 1024;      // decided but not finished
  // Policies for pods that other schedulers place (src/extender): profiles of the engine after
  // ours.
  std::vector<core::PolicyOptions> external_policies;
  QuotaOptions quota;
  core::EngineOptions engine;
  ClaimBinderOptions claims;
  // Keys that sign decisions; required. Nothing is read or decided before they are available.
  std::shared_ptr<kube::KeySource> keys;
  // If true, nothing is decided before lead() is called. binder.fence then tells until when.
  bool elected = false;
  std::shared_ptr<kube::Outages> outages;  // null: one of its own
};

class Scheduler {
 public:
  Scheduler(kube::ApiClient& client, SchedulerOptions options, base::Log& log);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  void start();
  // Only if elected: decides from now on, as soon as all pods have been listed once more (the
  // previous leader may have bound some that we have not seen) and no bind of an earlier term is
  // under way.
  void lead();
  // Stops deciding; continues to watch.
  void stand_down();
  // The keys have changed.
  void keys_changed();
  // Stops watching and deciding; binds and pre-allocations that are being written may end within
  // `grace`. Then calls `done`.
  void stop(net::Duration grace, std::function<void()> done);
  // Until then, a bind or a pre-allocation of ours may reach the API server without a caller.
  [[nodiscard]] net::Moment open_until() const;

  // The parts that other servers on the ledger share with this one.
  struct Shared {
    EventQueue& event_queue;
    ClusterCache& cluster_cache;
    CommandExecutor& command_executor;
    PreAllocationReaper& reaper;
    kube::PodAccess& pods;
    kube::EventRecorder& recorder;
    net::EventLoop& loop;
    kube::WallClock wall_clock;
    std::uint32_t first_external_profile = 0;
  };
  [[nodiscard]] Shared shared();

  // The first lists have arrived.
  [[nodiscard]] bool ready() const { return lifecycle_.synced(); }
  // Whether pods are being placed.
  [[nodiscard]] bool deciding() const { return lifecycle_.deciding(); }
  // What is missing for that, or what is wrong now; empty if nothing.
  [[nodiscard]] std::string trouble() const;

  // A record of the decision about the pod ("namespace/name") as the engine would make it now;
  // without a pod if the name is empty. `done` is called on the loop's thread.
  void record_decision(const std::string& pod, std::function<void(Result<std::string>)> done);

  struct Snapshot {
    EngineThread::Snapshot engine;
    ClusterCache::Sizes cluster_cache;
    EventQueue::Sizes event_queue;
    CommandExecutor::Counters command_executor;
    kube::BinderCounters binder;
    kube::EventCounters events;
    kube::ConditionCounters conditions;
    kube::ReflectorCounters nodes;
    kube::ReflectorCounters pods;
    QuotaSource::Counters quota;
    AuxInformers::Counters aux_objects;
    std::vector<QueueFill> queues;
    core::Survey survey;                           // up to some seconds old
    double engine_silent_seconds = 0;              // since the engine's thread last answered
    std::chrono::nanoseconds loop_longest_turn{};  // see net/loop_health.h
  };
  [[nodiscard]] Snapshot snapshot() const;

 private:
  using Event = Lifecycle::Event;
  void make_sources();
  void handle(Event event);
  void execute(Lifecycle::Action action);
  [[nodiscard]] Lifecycle::Conditions conditions() const;
  [[nodiscard]] bool writes_may_arrive() const;
  [[nodiscard]] std::vector<QueueFill> queues() const;
  void report_synced();
  void prepare();
  void open();
  void pause();
  void tick();

  kube::ApiClient& client_;
  SchedulerOptions options_;
  base::Log& log_;
  EventQueue event_queue_;
  kube::Binder binder_;
  kube::EventRecorder recorder_;
  kube::ConditionWriter conditions_;
  kube::PodAccess pod_access_;
  kube::ObjectAccess objects_;
  std::unique_ptr<CommandExecutor> command_executor_;
  ClusterCache cluster_cache_;
  PreAllocationReaper reaper_;
  std::unique_ptr<QuotaSource> quota_;
  std::unique_ptr<AuxInformers> aux_informers_;
  std::unique_ptr<NodeSource> nodes_;
  std::unique_ptr<PodSource> pods_;
  net::Timer ticker_;
  std::unique_ptr<EngineThread> engine_thread_;
  std::shared_ptr<bool> alive_;
  Lifecycle lifecycle_;
  net::Moment started_;
  net::Moment last_answer_;
  bool asked_ = false;
  core::Survey survey_;
  std::uint64_t ticks_ = 0;
};

}  // namespace stowage::scheduler
