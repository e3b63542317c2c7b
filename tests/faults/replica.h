// One process of the controller: elector, scheduler and extenders on their own loop, connected as
// in src/controller. Destroying it is a crash: its work ends at once, and requests that it has sent
// are still delivered.
//
// A changed configuration creates a second scheduler with its extenders. It reads the cluster while
// the first still decides, and then takes over from it, as in controller/generation.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api_side.h"
#include "base/log.h"
#include "defects.h"
#include "extender/extender.h"
#include "kube/api_client.h"
#include "kube/elector.h"
#include "plan.h"
#include "scheduler/scheduler.h"
#include "wire.h"

namespace stowage::faults {

class Replica {
 public:
  struct Settings {
    std::uint32_t number = 0;
    std::uint32_t life = 0;  // how often it was started before
    std::uint64_t seed = 1;
    Duration clock_error{};  // of the wall clock
    Defect defect = Defect::none;
    Features features;
    std::function<void(std::string_view)> log;  // a line; empty: no log
  };
  Replica(ApiSide& side, Settings settings);
  ~Replica();
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  // Ends gracefully; then calls `gone` (once, on the replica's process).
  void stop(std::function<void()> gone);
  // The configuration has changed.
  void reload();

  [[nodiscard]] World::Process process() const { return process_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] scheduler::Scheduler& scheduler() { return *now_->scheduler; }
  [[nodiscard]] kube::Elector& elector() { return *elector_; }
  [[nodiscard]] Wire& wire() { return *wire_; }
  [[nodiscard]] bool stopping() const { return stopping_; }
  // The next configuration is being read or takes over: it is unknown which watch belongs to which.
  [[nodiscard]] bool exchanging() const { return exchanging_ || next_ != nullptr; }
  [[nodiscard]] bool deciding() const { return now_->scheduler->deciding() && !stopping_; }
  void set_clock_error(Duration error) { settings_.clock_error = error; }
  [[nodiscard]] Duration clock_error() const { return settings_.clock_error; }

  // A request of kube-scheduler. Call it on the replica's process.
  void ask(Listener listener, extender::Verb verb, std::string body,
           std::shared_ptr<net::Responder> responder);
  // kube-scheduler has received the answer about this pod.
  void filter_answered(const std::string& uid);

 private:
  struct Generation {
    std::unique_ptr<scheduler::Scheduler> scheduler;
    std::vector<std::unique_ptr<extender::Extender>> extenders;
  };
  using GenerationPtr = std::unique_ptr<Generation>;

  [[nodiscard]] scheduler::SchedulerOptions scheduler_options();
  [[nodiscard]] GenerationPtr make_generation();
  void make_extenders(Generation& generation);
  void make_elector();
  void exchange_when_ready();
  void stop_when_kept(Moment until);
  void take_over();
  [[nodiscard]] DefectDeps defect_deps();
  void tell_engine(core::Event event, Duration delay);

  ApiSide& side_;
  Settings settings_;
  std::string name_;
  World::Process process_;
  OwnTime time_;
  net::EventLoop loop_;
  base::Log log_;
  std::unique_ptr<Wire> wire_;
  std::unique_ptr<kube::ApiClient> client_;
  std::vector<extender::ExtenderOptions> extender_options_;
  std::unique_ptr<kube::Elector> elector_;
  GenerationPtr now_;
  GenerationPtr next_;
  GenerationPtr past_;
  std::uint64_t generations_ = 0;
  bool exchanging_ = false;
  bool stopping_ = false;
  std::function<void()> gone_;
};

}  // namespace stowage::faults
