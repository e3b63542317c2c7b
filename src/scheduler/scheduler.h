// The standalone scheduler: watches nodes, pods and what rules speak of, lets the engine decide,
// binds.
//
//   informers -> Roster -> Mailbox -> Runner (the engine's thread) -> Outbox -> API -> informers
//
// Everything but the runner lives on the loop's thread. The class has many members for it makes all
// of these parts and ties them together; when they run is decided in lifecycle.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "kube/api_client.h"
#include "kube/binder.h"
#include "kube/condition_writer.h"
#include "kube/event_recorder.h"
#include "kube/object_access.h"
#include "kube/outages.h"
#include "kube/pod_access.h"
#include "kube/reflector.h"
#include "kube/seal.h"
#include "scheduler/lifecycle.h"
#include "scheduler/node_source.h"
#include "scheduler/outbox.h"
#include "scheduler/pod_source.h"
#include "scheduler/profile.h"
#include "scheduler/promises.h"
#include "scheduler/quota_source.h"
#include "scheduler/roster.h"
#include "scheduler/runner.h"
#include "scheduler/thing_source.h"

namespace stowage::scheduler {

struct SchedulerOptions {
  std::vector<Profile> profiles;
  kube::BinderOptions binder;
  kube::EventRecorderOptions events;
  kube::ReflectorOptions reflector;  // path and selectors are set here
  std::size_t binds_max = 1024;      // decided and not yet done
  // Policies for pods that others schedule (src/extender): profiles of the engine after ours.
  std::vector<core::PolicyOptions> guest_policies;
  QuotaOptions quota;
  core::EngineOptions engine;
  ClaimBinderOptions claims;
  // By which decisions are signed; needed. Nothing is read or decided before they are there.
  std::shared_ptr<kube::KeySource> keys;
  // Nothing is decided before lead() is called. Then binder.fence says until when.
  bool elected = false;
  std::shared_ptr<kube::Outages> outages;  // null: one of its own
};

// How full something is that may hold so much and no more.
struct QueueFill {
  std::string_view name;
  std::size_t size = 0;
  std::size_t limit = 0;
};

class Scheduler {
 public:
  Scheduler(kube::ApiClient& client, SchedulerOptions options, base::Log& log);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  void start();
  // Only if elected: decides from now on, as soon as all pods have been read once more (the leader
  // before us may have bound some that we have not heard of) and no bind of an earlier term is
  // under way.
  void lead();
  // Decides nothing from now on; goes on watching.
  void stand_down();
  // There are other keys than before.
  void keys_changed();
  // Stops watching and deciding; binds in flight may end within `grace`. Then `done`.
  void stop(net::Duration grace, std::function<void()> done);

  // What the other doors to the ledger share with this one.
  struct Shared {
    Mailbox& mailbox;
    Roster& roster;
    Outbox& outbox;
    Promises& promises;
    kube::PodAccess& pods;
    kube::EventRecorder& recorder;
    net::EventLoop& loop;
    kube::WallClock wall_clock;
    std::uint32_t first_guest_profile = 0;
  };
  [[nodiscard]] Shared shared();

  // The first lists are in: warm, if not leading.
  [[nodiscard]] bool ready() const { return lifecycle_.synced(); }
  // Pods are being placed.
  [[nodiscard]] bool deciding() const { return lifecycle_.deciding(); }
  // What is missing for that, or wrong now, in words; empty if nothing.
  [[nodiscard]] std::string trouble() const;

  // A record of the decision about the pod ("namespace/name") as the engine would take it now; of
  // no pod in particular if the name is empty. `done` is called on the loop's thread.
  void record_decision(const std::string& pod, std::function<void(Result<std::string>)> done);

  struct Picture {
    Runner::Picture engine;
    Roster::Sizes roster;
    Mailbox::Sizes mailbox;
    Outbox::Counters outbox;
    kube::BinderCounters binder;
    kube::EventCounters events;
    kube::ConditionCounters conditions;
    kube::ReflectorCounters nodes;
    kube::ReflectorCounters pods;
    QuotaSource::Counters quota;
    ThingSource::Counters things;
    std::vector<QueueFill> queues;
    core::Survey survey;                           // some seconds old
    double engine_silent_seconds = 0;              // since the engine's thread last answered
    std::chrono::nanoseconds loop_longest_turn{};  // see net/loop_health.h
  };
  [[nodiscard]] Picture picture() const;

 private:
  using Event = Lifecycle::Event;
  void make_sources();
  void handle(Event event);
  void carry_out(Lifecycle::Action action);
  [[nodiscard]] Lifecycle::Conditions conditions() const;
  [[nodiscard]] bool binds_may_arrive() const;
  [[nodiscard]] std::vector<QueueFill> queues() const;
  void report_synced();
  void prepare();
  void open();
  void hold_back();
  void tick();

  kube::ApiClient& client_;
  SchedulerOptions options_;
  base::Log& log_;
  Mailbox mailbox_;
  kube::Binder binder_;
  kube::EventRecorder recorder_;
  kube::ConditionWriter conditions_;
  kube::PodAccess pod_access_;
  kube::ObjectAccess objects_;
  std::unique_ptr<Outbox> outbox_;
  Roster roster_;
  Promises promises_;
  std::unique_ptr<QuotaSource> quota_;
  std::unique_ptr<ThingSource> things_;
  std::unique_ptr<NodeSource> nodes_;
  std::unique_ptr<PodSource> pods_;
  net::Timer ticker_;
  std::unique_ptr<Runner> runner_;
  std::shared_ptr<bool> alive_;
  Lifecycle lifecycle_;
  net::Moment started_;
  net::Moment last_answer_;
  bool asked_ = false;
  core::Survey survey_;
  std::uint64_t ticks_ = 0;
};

}  // namespace stowage::scheduler
