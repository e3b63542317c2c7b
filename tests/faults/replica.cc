#include "replica.h"

#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "kube/testing/fixed_keys.h"
#include "objects.h"

namespace stowage::faults {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kStopGrace{5};
constexpr seconds kNominationTime{120};
constexpr seconds kVolumeLimit{120};
constexpr seconds kPatience{8};
constexpr milliseconds kPreAllocationsKept{1000};  // as in controller/generation
constexpr milliseconds kLook{20};
constexpr seconds kPastKept{5};
constexpr kube::WallTime kBegin{std::chrono::sys_days{std::chrono::year{2026} / 1 / 2}};

base::Log::Options log_options(const Replica::Settings& settings, const World& world,
                               const std::string& name) {
  base::Log::Options options;
  options.level = settings.log ? base::LogLevel::debug : base::LogLevel::error;
  options.write = [write = settings.log, name](std::string_view line) {
    if (write) write(name + ": " + std::string(line));
  };
  options.unix_micros = [&world] {
    return std::chrono::duration_cast<std::chrono::microseconds>(world.elapsed()).count();
  };
  return options;
}

std::vector<extender::ExtenderOptions> all_extenders() {
  std::vector<extender::ExtenderOptions> all;
  for (const char* name : {"stowage", "stowage", "gpu-admission", "nvidia-gpu-scheduler"}) {
    auto made = extender::preset(name);
    STOWAGE_CHECK(made.has_value());
    all.push_back(std::move(*made));
  }
  all[0].mode = extender::Mode::choose;
  all[1].mode = extender::Mode::bind;
  all[2].mode = extender::Mode::single_node;
  all[3].without_model_passes = false;
  return all;
}

}  // namespace

Replica::Replica(ApiSide& side, Settings settings)
    : side_(side),
      settings_(std::move(settings)),
      name_(fmt::format("replica-{}-{}", settings_.number, settings_.life)),
      process_(side.world().start()),
      time_(side.world(), process_),
      loop_(time_),
      log_(log_options(settings_, side.world(), name_)),
      extender_options_(all_extenders()) {
  wire_ = std::make_unique<Wire>(
      side_, Wire::Options{.replica = settings_.number,
                           .name = name_,
                           .client = process_,
                           .seed = settings_.seed,
                           .defects = wire_defects(settings_.defect, defect_deps())});
  kube::ApiClientOptions options;
  options.seed = settings_.seed;
  options.caller = [this] { return wire_->caller(); };
  options.wall_clock = [this] { return kBegin + side_.world().elapsed() + settings_.clock_error; };
  auto client = kube::ApiClient::create(loop_, {}, std::move(options));
  STOWAGE_CHECK(client.has_value());
  client_ = std::move(*client);
  make_elector();
  now_ = make_generation();
  side_.world().at(process_, side_.world().now(), [this] {
    now_->scheduler->start();
    elector_->start();
  });
}

Replica::~Replica() {
  side_.world().kill(process_);
  for (GenerationPtr* each : {&past_, &next_, &now_}) {
    if (*each) (*each)->extenders.clear();
  }
  elector_.reset();
  past_.reset();
  next_.reset();
  now_.reset();
  client_.reset();
}

scheduler::SchedulerOptions Replica::scheduler_options() {
  scheduler::SchedulerOptions options;
  options.profiles = {{.name = "stowage"}};
  options.elected = true;
  // All replicas, in all their lives, have the same key. A replica that considers every pod older
  // than the first signature accepts unsigned annotations.
  constexpr std::int64_t kFarAway = 100'000'000'000;
  const bool believes = settings_.defect == Defect::believes_unsigned;
  options.keys = std::make_shared<kube::testing::FixedKeys>(
      kube::testing::keys_from_seed("faults", believes ? kFarAway : 0));
  options.reflector.watch_min = seconds{20};
  options.reflector.watch_max = seconds{40};
  options.reflector.silence_grace = seconds{10};
  options.reflector.list_deadline = seconds{20};
  options.reflector.page_limit = 20;
  options.reflector.seed = settings_.seed;
  options.binder.seed = settings_.seed;
  if (settings_.defect != Defect::no_fence && settings_.defect != Defect::goes_on) {
    options.binder.fence = [this] { return elector_->fence(); };
  }
  // The configuration differs from one life to the next.
  base::Rng rng(settings_.seed + 1000 * generations_++);
  if (rng.below(3) == 0) options.binds_max = 2;
  if (rng.below(3) == 0) options.binder.in_flight_max = 2;
  options.engine.preemption = rng.below(4) != 0;
  // The default is ten minutes, but nominations must end before the run does.
  options.engine.preemption_nomination_ns = std::chrono::nanoseconds(kNominationTime).count();
  options.claims.limit = kVolumeLimit;
  if (settings_.features.has(Feature::waits)) {
    options.engine.patience_ns = std::chrono::nanoseconds(kPatience).count();
    options.engine.nomination_ns = std::chrono::nanoseconds(kNominationTime).count();
  }
  for (const auto& extender : extender_options_) {
    for (const auto& entry : extender.policies) options.external_policies.push_back(entry.policy);
  }
  return options;
}

Replica::GenerationPtr Replica::make_generation() {
  auto made = std::make_unique<Generation>();
  made->scheduler = std::make_unique<scheduler::Scheduler>(*client_, scheduler_options(), log_);
  if (auto filter = event_filter(settings_.defect)) {
    made->scheduler->shared().event_queue.keep_events_if(std::move(filter));
  }
  make_extenders(*made);
  return made;
}

void Replica::make_elector() {
  kube::ElectorOptions options;
  options.identity = name_;
  options.duration = seconds{6};
  options.renew_deadline = seconds{4};
  options.retry = seconds{1};
  options.look = milliseconds{500};
  options.call_deadline = seconds{2};
  options.seed = settings_.seed;
  kube::Elector::Deps deps;
  deps.on_leading = [this](const kube::Elector::Start& /*start*/) {
    if (!exchanging_) now_->scheduler->lead();
  };
  deps.on_lost = [this](const std::string& why) {
    log_.info("lost the lease", {{"why", why}});
    if (settings_.defect != Defect::goes_on && !exchanging_) now_->scheduler->stand_down();
  };
  elector_ = std::make_unique<kube::Elector>(*client_, std::move(options), std::move(deps));
}

void Replica::make_extenders(Generation& generation) {
  const auto shared = generation.scheduler->shared();
  std::uint32_t profile = shared.first_external_profile;
  const auto reaper = extender::pre_allocation_options(extender_options_);
  shared.cluster_cache.pre_allocations().enable_pre_allocations(
      reaper.position ? profile + *reaper.position : 0, reaper.bind_limit);
  for (const auto& options : extender_options_) {
    generation.extenders.push_back(std::make_unique<extender::Extender>(
        options, extender::Extender::Deps{.shared = shared,
                                          .first_profile = profile,
                                          .not_ready = [this]() -> std::string {
                                            return deciding() ? "" : "this replica does not lead";
                                          },
                                          .leads = [this] { return elector_->leading(); },
                                          .log = log_}));
    profile += static_cast<std::uint32_t>(options.policies.size());
  }
}

DefectDeps Replica::defect_deps() {
  return {.tell_engine = [this](core::Event event,
                                Duration delay) { tell_engine(std::move(event), delay); },
          .inventory =
              [this](const std::string& node) {
                const local::ObjectPtr object = side_.store().get(local::Kind::node, {"", node});
                return object == nullptr ? std::vector<std::string>() : inventory_ids(*object);
              }};
}

void Replica::tell_engine(core::Event event, Duration delay) {
  side_.world().after(process_, delay, [this, event = std::move(event)]() mutable {
    now_->scheduler->shared().event_queue.put_reply(std::move(event));
  });
}

void Replica::ask(Listener listener, extender::Verb verb, std::string body,
                  std::shared_ptr<net::Responder> responder) {
  net::ServerRequest request;
  request.http.method = "POST";
  request.http.body = std::move(body);
  const std::size_t which =
      static_cast<std::size_t>(listener) - 1;  // in the order of the listeners
  now_->extenders[which]->handle(verb, std::move(request), std::move(responder));
}

void Replica::filter_answered(const std::string& uid) {
  if (settings_.defect == Defect::hold_not_kept) {
    tell_engine(core::BindFailed{uid}, Duration::zero());
  }
}

// ---- a changed configuration

void Replica::reload() {
  if (stopping_ || exchanging_) return;
  next_ = make_generation();
  next_->scheduler->start();
  exchange_when_ready();
}

void Replica::exchange_when_ready() {
  if (!next_ || stopping_ || exchanging_) return;
  if (!next_->scheduler->ready()) {
    side_.world().after(process_, kLook, [this] { exchange_when_ready(); });
    return;
  }
  exchanging_ = true;
  stop_when_kept(loop_.now() + kPreAllocationsKept);
}

// kube-scheduler uses its pre-allocations within milliseconds.
void Replica::stop_when_kept(Moment until) {
  const bool kept = now_->scheduler->snapshot().engine.counters.held == 0;
  if (!kept && loop_.now() < until) {
    side_.world().after(process_, kLook, [this, until] { stop_when_kept(until); });
    return;
  }
  now_->scheduler->stop(kStopGrace, [this] { take_over(); });
}

// As between two replicas: nothing from the previous scheduler may still arrive, and all pods are
// read again before anything is decided.
void Replica::take_over() {
  if (loop_.now() < now_->scheduler->open_until()) {
    side_.world().after(process_, kLook, [this] { take_over(); });
    return;
  }
  exchanging_ = false;
  if (stopping_) return elector_->release(gone_);
  past_ = std::move(now_);
  now_ = std::move(next_);
  if (elector_->leading()) now_->scheduler->lead();
  side_.world().after(process_, kPastKept, [this] {
    if (!past_) return;
    past_->extenders.clear();
    past_.reset();
  });
}

// The lease is given back only if none of our requests can still be acted on; otherwise the next
// leader has to wait until it expires.
void Replica::stop(std::function<void()> gone) {
  stopping_ = true;
  if (exchanging_) {  // take_over() continues with it
    gone_ = std::move(gone);
    return;
  }
  next_.reset();
  now_->scheduler->stop(kStopGrace, [this, gone = std::move(gone)] {
    if (loop_.now() < now_->scheduler->open_until()) return gone();
    elector_->release(gone);
  });
}

}  // namespace stowage::faults
