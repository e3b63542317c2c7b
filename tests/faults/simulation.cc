#include "simulation.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "actors.h"
#include "api_side.h"
#include "kube_scheduler.h"
#include "recount.h"
#include "replica.h"
#include "witness.h"
#include "world.h"

namespace stowage::faults {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kCalm{400};       // longer than any timeout or pause
constexpr seconds kLongCalm{800};   // and than what may still be ahead of kube-scheduler
constexpr seconds kSettled{370};    // more than three times the time for which capacity is kept
constexpr seconds kTriesAgain{70};  // longer than kube-scheduler leaves a refused pod alone
constexpr seconds kAgain{100};      // evictions this far apart are two attempts
constexpr seconds kLastQuiet{60};   // within which there must be a moment without work
constexpr milliseconds kAuditEvery{700};
constexpr seconds kWatchesLag{10};
// A hold whose pod was never seen lasts 30 s, and a replica may be suspended for as long.
constexpr seconds kHoldMax{65};

// Receives the answer to one request of kube-scheduler.
class Answerer final : public net::Responder {
 public:
  explicit Answerer(KubeScheduler::Deps::Answer answer) : answer_(std::move(answer)) {}
  void send(net::HttpResponse response) override { answer_(response); }
  void begin(net::HttpResponse /*head*/) override {}
  void upgrade(std::string /*protocol*/, std::function<void(std::string_view)> /*data*/) override {}
  void write(std::shared_ptr<const std::string> /*chunk*/) override {}
  void end() override {}
  [[nodiscard]] std::size_t backlog() const override { return 0; }
  void abort() override {}
  void on_closed(std::function<void()> /*closed*/) override {}

 private:
  KubeScheduler::Deps::Answer answer_;
};

class Simulation {
 public:
  Simulation(const Plan& plan, const RunOptions& options)
      : plan_(plan),
        options_(options),
        world_(plan.seed),
        director_(world_.start()),
        side_(world_, {.seed = plan.seed, .history = plan.history}),
        witness_(world_),
        views_(plan_, side_.store()),
        checks_(plan_, side_, views_, witness_),
        actors_({.plan = plan_,
                 .side = side_,
                 .views = views_,
                 .checks = checks_,
                 .witness = witness_}),
        kube_scheduler_(plan_, side_, views_, kube_deps()),
        rng_(plan.seed + 5) {
    side_.on_acted = [this](const ApiSide::Acted& acted) {
      log_acted(acted);
      checks_.acted(acted);
      check_leaders(acted);
    };
  }

  Outcome run() {
    slots_.resize(plan_.replicas);
    for (std::uint32_t i = 0; i < plan_.replicas; ++i) start(i);
    for (const Step& step : plan_.steps) {
      world_.after(director_, step.at, [this, &step] { apply(step); });
    }
    world_.after(director_, plan_.active, [this] { calm(); });
    audit();
    play(plan_.active + (plan_.features.has(Feature::late) ? kLongCalm : kCalm));
    if (checks_.violation().empty()) finish();
    Outcome outcome;
    outcome.violation = checks_.violation();
    outcome.digest = checks_.digest();
    outcome.textless = checks_.textless_digest();
    outcome.steps = world_.steps();
    outcome.bound = checks_.counts().bound;
    outcome.pre_allocated = checks_.counts().pre_allocated;
    outcome.recounts = recounts_;
    outcome.takeovers = takeovers_;
    for (const Slot& slot : slots_) {
      if (slot.replica) outcome.takeovers += slot.replica->elector().counters().acquired;
    }
    return outcome;
  }

 private:
  struct Slot {
    std::unique_ptr<Replica> replica;
    std::uint32_t life = 0;
    Duration clock_error{};
  };

  void log(const std::string& line) const {
    if (!options_.log) return;
    options_.log(
        fmt::format("{:9.3f} {}", std::chrono::duration<double>(world_.elapsed()).count(), line));
  }

  void log_acted(const ApiSide::Acted& acted) const {
    if (!options_.log || acted.request.method == "GET") return;
    log(fmt::format("server: {} {} of {}: {}", acted.request.method, acted.request.target,
                    acted.sender, acted.response.status));
  }

  void play(Duration until) {
    const Moment end = world_.now() - world_.elapsed() + until;
    while (checks_.violation().empty() && world_.step(end)) {
    }
  }

  // ---- replicas

  void start(std::uint32_t number) {
    Slot& slot = slots_[number];
    if (slot.replica) return;
    Replica::Settings settings;
    settings.number = number;
    settings.life = slot.life++;
    settings.seed = plan_.seed * 31 + number * 7 + settings.life;
    settings.clock_error = slot.clock_error;
    settings.defect = options_.defect;
    settings.features = plan_.features;
    if (options_.log) {
      settings.log = [this](std::string_view line) { log(std::string(line)); };
    }
    slot.replica = std::make_unique<Replica>(side_, std::move(settings));
  }

  void end(std::uint32_t number) {
    Slot& slot = slots_[number];
    if (!slot.replica) return;
    takeovers_ += slot.replica->elector().counters().acquired;
    slot.replica.reset();
  }

  void stop(std::uint32_t number) {
    Replica* replica = slots_[number].replica.get();
    if (replica == nullptr || replica->stopping()) return;
    world_.at(replica->process(), world_.now(), [this, replica, number] {
      replica->stop([this, replica, number] {
        world_.at(director_, world_.now(), [this, replica, number] {
          if (slots_[number].replica.get() == replica) end(number);
        });
      });
    });
  }

  // ---- the plan

  void apply(Step step) {
    log("step: " + to_text(step));
    if (step.subject == kLeader && (step.kind == StepKind::stop || step.kind == StepKind::reload)) {
      step.subject = leader();
    }
    Slot* slot = step.subject < slots_.size() ? &slots_[step.subject] : nullptr;
    Replica* replica = slot == nullptr ? nullptr : slot->replica.get();
    switch (step.kind) {
      case StepKind::crash: end(step.subject); return start_after(step);
      case StepKind::stop: stop(step.subject); return start_after(step);
      case StepKind::pause:
        if (replica != nullptr) world_.pause(replica->process(), step.lasts);
        return;
      case StepKind::jump_clock:
        slot->clock_error = seconds{std::int64_t{step.more} - kClockZero};
        if (replica != nullptr) replica->set_clock_error(slot->clock_error);
        return;
      case StepKind::calls_fail:
        return side_.fail_calls(step.subject, step.fault, step.more / 100.0, step.lasts);
      case StepKind::server_down:
        side_.go_down(step.lasts);
        for (Slot& each : slots_) trouble(each.replica.get(), Wire::Trouble::cut);
        return;
      case StepKind::cut_watches: return trouble(replica, Wire::Trouble::cut);
      case StepKind::hang_watches: return trouble(replica, Wire::Trouble::hang);
      case StepKind::expire_watches: return trouble(replica, Wire::Trouble::expire);
      case StepKind::reload:
        if (replica != nullptr) {
          world_.at(replica->process(), world_.now(), [replica] { replica->reload(); });
        }
        return;
      case StepKind::restart_kube_scheduler: return kube_scheduler_.restart();
      case StepKind::delay_watches:
        return side_.delay_watches(step.subject, step.lasts, kWatchesLag);
      default: return actors_.apply(step);
    }
  }

  [[nodiscard]] std::uint32_t leader() const {
    const auto found = std::find_if(slots_.begin(), slots_.end(), [](const Slot& slot) {
      return slot.replica && slot.replica->deciding();
    });
    return found == slots_.end() ? 0 : static_cast<std::uint32_t>(found - slots_.begin());
  }

  void start_after(const Step& step) {
    // A replica that is being stopped may take longer: it is checked again.
    world_.after(director_, step.lasts, [this, number = step.subject] {
      if (slots_[number].replica && slots_[number].replica->stopping()) {
        return start_after({.subject = number, .lasts = seconds{1}});
      }
      start(number);
    });
  }

  static void trouble(Replica* replica, Wire::Trouble trouble) {
    if (replica != nullptr) replica->wire().trouble_watches(trouble);
  }

  void calm() {
    log("step: calm");
    side_.calm();
    actors_.calm();
    kube_scheduler_.calm();
    for (std::uint32_t i = 0; i < slots_.size(); ++i) start_after({.subject = i});
  }

  // ---- kube-scheduler's way to the extender

  KubeScheduler::Deps kube_deps() {
    KubeScheduler::Deps deps;
    deps.ask = [this](Listener listener, extender::Verb verb, std::string body,
                      KubeScheduler::Deps::Answer answer) {
      Replica* replica = behind_the_service();
      if (replica == nullptr) return;
      world_.after(
          replica->process(), draw_millis(rng_, 0.1, 3),
          [replica, listener, verb, body = std::move(body), answer = std::move(answer)]() mutable {
            replica->ask(listener, verb, std::move(body),
                         std::make_shared<Answerer>(std::move(answer)));
          });
    };
    deps.filtered = [this](const std::string& uid) {
      for (Slot& slot : slots_) {
        if (!slot.replica || !slot.replica->deciding()) continue;
        witness_.decided(uid, slot.replica->name());
        slot.replica->filter_answered(uid);
      }
    };
    deps.strayed = [this](const std::string& node) { witness_.disturbed(node); };
    deps.replaced = [this](const std::string& what) { checks_.violate("answer replaced", what); };
    return deps;
  }

  // Mostly the leader; sometimes another replica, whose readiness is not known yet.
  Replica* behind_the_service() {
    std::vector<Replica*> all;
    for (Slot& slot : slots_) {
      if (slot.replica) all.push_back(slot.replica.get());
    }
    if (all.empty()) return nullptr;
    if (rng_.below(20) != 0) {
      for (Replica* replica : all) {
        if (replica->deciding()) return replica;
      }
    }
    return all[rng_.below(all.size())];
  }

  // ---- who leads

  // After a write of the lease: only the leader may continue. Requests of others must no longer be
  // able to arrive, and a replica that has created a lease must not have begun yet.
  void check_leaders(const ApiSide::Acted& acted) {
    if (acted.request.method == "GET" || acted.response.status > 299) return;
    if (acted.request.target.find("/leases") == std::string::npos) return;
    for (Slot& slot : slots_) {
      if (!slot.replica || slot.replica->name() == checks_.leadership().leader()) continue;
      if (!slot.replica->deciding() || slot.replica->elector().fence() <= world_.now()) continue;
      const auto left = slot.replica->elector().fence() - world_.now();
      checks_.violate(
          "two leaders",
          fmt::format("{} writes the lease, \"{}\" leads by it, and {} may go on for {} ms",
                      acted.sender, checks_.leadership().leader(), slot.replica->name(),
                      std::chrono::duration_cast<milliseconds>(left).count()));
    }
  }

  // ---- the ledgers

  [[nodiscard]] Truth truth() {
    return {.plan = plan_, .views = views_, .edited = checks_.edited(), .store = side_.store()};
  }

  void audit() {
    world_.after(director_, kAuditEvery, [this] { audit(); });
    for (Slot& slot : slots_) {
      if (slot.replica) audit(*slot.replica, [](core::Engine& /*engine*/) { return ""; });
    }
  }

  using More = std::function<std::string(core::Engine&)>;
  static bool all_heard(Replica& replica) {
    if (!replica.scheduler().ready() || replica.stopping() || replica.exchanging()) return false;
    if (!replica.wire().quiet()) return false;
    const auto waiting = replica.scheduler().snapshot().event_queue;
    return waiting.objects == 0 && waiting.replies == 0;
  }

  void audit(Replica& replica, More more) {
    if (world_.paused(replica.process()) || !all_heard(replica)) return;
    if (replica.wire().hears_all()) witness_.heard(replica.name());
    const std::uint64_t arrivals = replica.wire().arrivals();
    replica.scheduler().shared().event_queue.ask(
        [this, &replica, arrivals,
         more = std::move(more)](const scheduler::EventQueue::EngineAccess& access) {
          if (replica.wire().arrivals() != arrivals || !replica.wire().quiet()) return;
          ++recounts_;
          const auto may_linger = [this, &replica](const std::string& uid) {
            const auto first =
                lingering_.try_emplace(replica.name() + "/" + uid, world_.now()).first;
            return world_.now() - first->second <= kHoldMax;
          };
          std::string wrong = recount(truth(), access.engine, may_linger);
          if (wrong.empty()) wrong = more(access.engine);
          if (!wrong.empty()) checks_.violate("ledger differs", replica.name() + ": " + wrong);
        });
  }

  // ---- the end

  // Two late attempts are allowed: of pods whose turn has come, or of a pod whose first attempt
  // failed because others took a part of a card that it needs whole. A pod that evicts without end
  // does so whenever its nomination expires.
  [[nodiscard]] bool evicts_without_end() const {
    std::size_t attempts = 0;
    Moment last{};
    for (const Moment when : checks_.evictions()) {
      if (when + kSettled <= world_.now()) continue;
      if (attempts == 0 || when - last > kAgain) ++attempts;
      last = when;
    }
    return attempts >= 3;
  }

  void finish() {
    std::vector<Replica*> deciding;
    for (Slot& slot : slots_) {
      if (slot.replica && slot.replica->deciding()) deciding.push_back(slot.replica.get());
    }
    if (deciding.size() != 1) {
      return checks_.violate("no rest",
                             fmt::format("{} replicas decide in the end", deciding.size()));
    }
    if (evicts_without_end()) {
      return checks_.violate("evicts without end", "pods were evicted again and again in the end");
    }
    // Capacity may have become free just now.
    Waiting waiting = waits_in_vain(truth());
    const Duration patience = world_.elapsed() + kTriesAgain;
    while (!waiting.why.empty() && world_.elapsed() < patience && checks_.violation().empty()) {
      play(world_.elapsed() + seconds{1});
      waiting = waits_in_vain(truth());
    }
    if (!waiting.why.empty()) {
      return checks_.violate(
          waiting.untrusted ? "forged pre-allocation holds a card" : "waits in vain", waiting.why);
    }
    bool done = false;
    const More settled = [this, &done](core::Engine& engine) -> std::string {
      done = true;
      const auto now = engine.counters();
      // Pods that still wait for several cards may have some kept, and so may pods that others
      // nominate.
      const bool nominations_may = plan_.features.has(Feature::waits);
      if (now.binding + now.held + (nominations_may ? 0 : now.nominations) == 0) return {};
      const bool untrusted = plan_.features.has(Feature::untrusted) && now.held > 0;
      checks_.violate(untrusted ? "forged pre-allocation holds a card" : "no rest",
                      fmt::format("{} binds, {} holds and {} rooms are left", now.binding, now.held,
                                  now.nominations));
      return {};
    };
    const Duration last = world_.elapsed() + kLastQuiet;
    while (!done && world_.elapsed() < last && checks_.violation().empty()) {
      audit(*deciding.front(), settled);
      play(world_.elapsed() + milliseconds{100});
    }
    if (!done) checks_.violate("no rest", "the leader does not come to rest");
  }

  const Plan& plan_;
  const RunOptions& options_;
  World world_;
  World::Process director_;
  ApiSide side_;
  Witness witness_;
  Views views_;
  Checks checks_;
  Actors actors_;
  KubeScheduler kube_scheduler_;
  base::Rng rng_;
  std::vector<Slot> slots_;
  std::map<std::string, Moment> lingering_;  // holds of pods that have gone: since when
  std::uint64_t recounts_ = 0;
  std::uint64_t takeovers_ = 0;
};

}  // namespace

Outcome simulate(const Plan& plan, const RunOptions& options) {
  Simulation simulation(plan, options);
  return simulation.run();
}

}  // namespace stowage::faults
