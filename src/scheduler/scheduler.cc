#include "scheduler/scheduler.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "net/loop_health.h"

namespace stowage::scheduler {
namespace {

constexpr std::chrono::seconds kTick{1};
// How much longer than its time limit a write may stay under way after its caller gave up.
constexpr std::chrono::milliseconds kTransit{500};
constexpr std::uint64_t kTicksPerSurvey = 5;
constexpr std::uint64_t kTicksPerFlush = 30;  // unschedulable pods are tried again at least this
                                              // often
constexpr const char* kLivePods = "status.phase!=Succeeded,status.phase!=Failed";

kube::ReflectorOptions watching(kube::ReflectorOptions options, std::string path,
                                std::string field_selector) {
  options.path = std::move(path);
  options.field_selector = std::move(field_selector);
  options.protobuf = true;  // encoding JSON is most of what a watch costs the API server
  return options;
}

std::vector<core::PolicyOptions> policies_of(const SchedulerOptions& options) {
  std::vector<core::PolicyOptions> policies;
  for (const auto& profile : options.profiles) policies.push_back(profile.policy);
  for (const auto& policy : options.external_policies) policies.push_back(policy);
  return policies;
}

ClusterCache::Clock cluster_cache_clock(kube::ApiClient& client) {
  return {.unix_nanos = [&client] { return kube::unix_nanos(client.wall_clock()()); },
          .now = [&client] { return engine_time(client.loop()); }};
}

SchedulerOptions completed(SchedulerOptions options, kube::ApiClient& client, base::Log& log) {
  options.events.wall_clock = client.wall_clock();
  if (!options.outages) options.outages = std::make_shared<kube::Outages>(client.loop(), log);
  return options;
}

}  // namespace

Scheduler::Scheduler(kube::ApiClient& client, SchedulerOptions options, base::Log& log)
    : client_(client),
      options_(completed(std::move(options), client, log)),
      log_(log),
      binder_(client, options_.binder),
      recorder_(client, options_.events),
      conditions_(client, {.wall_clock = client.wall_clock()}),
      pod_access_(client, {.fence = options_.binder.fence}),
      objects_(client),
      cluster_cache_(
          options_.profiles, event_queue_,
          [this](const Notice& notice) { command_executor_->report(notice); },
          cluster_cache_clock(client)),
      reaper_({}, {.cluster_cache = cluster_cache_,
                   .event_queue = event_queue_,
                   .pods = pod_access_,
                   .loop = client.loop()}),
      ticker_(client.loop()),
      alive_(std::make_shared<bool>(true)),
      lifecycle_(options_.elected ? Lifecycle::Leads::when_elected : Lifecycle::Leads::from_start) {
  STOWAGE_CHECK(options_.keys != nullptr);
  cluster_cache_.stand_down();
  cluster_cache_.signatures().on_unknown_key(
      [this] { lifecycle_.unknown_key(options_.keys->look_soon()); });
  cluster_cache_.pre_allocations().on_pre_allocation(
      [this](const PreAllocations::Announced& pre_allocated) {
        const std::chrono::nanoseconds left(pre_allocated.until.ns -
                                            engine_time(client_.loop()).ns);
        reaper_.watch({.uid = pre_allocated.uid,
                       .pod = {.ns = pre_allocated.ns, .name = pre_allocated.name},
                       .made = pre_allocated.made,
                       .until = client_.loop().now() + left,
                       .node = pre_allocated.node});
      });
  cluster_cache_.pre_allocations().on_other_cards(
      [this](const std::string& node) { reaper_.cards_changed(node); });
  cluster_cache_.external_pods().on_seen(
      [this](const dialect::PodObject& pod) { reaper_.saw(pod); });
  command_executor_ = std::make_unique<CommandExecutor>(
      CommandExecutor::Options{.claims = options_.claims, .profiles = options_.profiles},
      CommandExecutor::Deps{
          .cluster_cache = cluster_cache_,
          .event_queue = event_queue_,
          .binder = binder_,
          .recorder = recorder_,
          .conditions = conditions_,
          .pods = pod_access_,
          .objects = objects_,
          .loop = client.loop(),
          .log = log,
          .wall_clock = client.wall_clock(),
          .claim = [this](const std::string& name) { return aux_informers_->claim(name); },
          .on_claims_waiting = [this](std::size_t pods) { engine_thread_->set_slow_binds(pods); }});
  if (options_.elected) command_executor_->stand_down();
  make_sources();
  const auto execute = [this, alive = alive_, &loop = client.loop()](core::Commands commands) {
    loop.post([this, alive, commands = std::move(commands)] {
      if (*alive) command_executor_->execute(commands);
    });
  };
  engine_thread_ =
      std::make_unique<EngineThread>(EngineThread::Options{.profiles = policies_of(options_),
                                                           .binds_max = options_.binds_max,
                                                           .engine = options_.engine},
                                     event_queue_, client.loop(), execute);
}

void Scheduler::make_sources() {
  nodes_ = std::make_unique<NodeSource>(watching(options_.reflector, "/api/v1/nodes", ""),
                                        NodeSource::Deps{.client = client_,
                                                         .cluster_cache = cluster_cache_,
                                                         .log = log_,
                                                         .outages = options_.outages,
                                                         .on_listed = [this] {
                                                           keys_changed();
                                                           handle(Event::nodes_listed);
                                                         }});
  pods_ = std::make_unique<PodSource>(
      watching(options_.reflector, "/api/v1/pods", kLivePods),
      PodSource::Deps{.client = client_,
                      .cluster_cache = cluster_cache_,
                      .log = log_,
                      .outages = options_.outages,
                      .on_list_began = [this] { handle(Event::pods_list_began); },
                      .on_listed =
                          [this] {
                            reaper_.listed();
                            handle(Event::pods_listed);
                          },
                      .on_deleted = [this](const std::string& uid) { conditions_.forget(uid); }});
  cluster_cache_.on_expected([this](const std::string& uid) { pods_->informer().expect(uid); });
  if (options_.quota.enabled) {
    quota_ = std::make_unique<QuotaSource>(
        options_.quota, options_.reflector,
        QuotaSource::Deps{.client = client_,
                          .event_queue = event_queue_,
                          .recorder = recorder_,
                          .log = log_,
                          .outages = options_.outages,
                          .on_synced = [this] { handle(Event::others_synced); }});
  }
  aux_informers_ = std::make_unique<AuxInformers>(
      AuxInformersOptions{.reflector = options_.reflector},
      AuxInformers::Deps{
          .client = client_,
          .event_queue = event_queue_,
          .log = log_,
          .outages = options_.outages,
          .on_synced = [this] { handle(Event::others_synced); },
          .on_claim_changed =
              [this](const std::string& claim) { command_executor_->claim_changed(claim); }});
}

Scheduler::~Scheduler() {
  *alive_ = false;
  engine_thread_.reset();
}

Scheduler::Shared Scheduler::shared() {
  return {.event_queue = event_queue_,
          .cluster_cache = cluster_cache_,
          .command_executor = *command_executor_,
          .reaper = reaper_,
          .pods = pod_access_,
          .recorder = recorder_,
          .loop = client_.loop(),
          .wall_clock = client_.wall_clock(),
          .first_external_profile = static_cast<std::uint32_t>(options_.profiles.size())};
}

void Scheduler::start() {
  started_ = last_answer_ = client_.loop().now();
  engine_thread_->start();
  if (quota_) quota_->start();
  aux_informers_->start();
  nodes_->informer().start();
  tick();
}

void Scheduler::keys_changed() {
  const kube::Keys keys = options_.keys->keys();
  if (lifecycle_.stopped() || !keys || keys == cluster_cache_.signatures().keys()) return;
  handle(cluster_cache_.use_keys(keys) ? Event::pods_need_relist : Event::keys_changed);
}

void Scheduler::handle(Event event) {
  for (const Lifecycle::Action action : lifecycle_.handle(event, conditions())) execute(action);
}

Lifecycle::Conditions Scheduler::conditions() const {
  const kube::Keys& keys = cluster_cache_.signatures().keys();
  return {.keys_known = keys != nullptr,
          .others_synced = aux_informers_->synced() && (!quota_ || quota_->synced()),
          .writes_may_arrive = writes_may_arrive(),
          .signs = keys && keys->signs && keys->began_unix,
          .keys_current = options_.keys->keys() == keys,
          .key_looks = options_.keys->looked()};
}

void Scheduler::execute(Lifecycle::Action action) {
  using Action = Lifecycle::Action;
  switch (action) {
    case Action::start_pods: return pods_->informer().start();
    case Action::relist_pods: return pods_->informer().relist();
    case Action::report_synced: return report_synced();
    case Action::begin_signing: return options_.keys->begin();
    case Action::prepare: return prepare();
    case Action::open: return open();
    case Action::pause: return pause();
  }
}

void Scheduler::report_synced() {
  const auto sizes = cluster_cache_.sizes();
  const std::chrono::duration<double> took = client_.loop().now() - started_;
  log_.info("ready: the first lists are complete",
            {{"nodes", fmt::format("{}", sizes.nodes)},
             {"pods", fmt::format("{}", sizes.pods)},
             {"waiting", fmt::format("{}", sizes.pending)},
             {"seconds", fmt::format("{:.2f}", took.count())}});
}

net::Moment Scheduler::open_until() const {
  return std::max(binder_.counters().open_until, pod_access_.open_until());
}

// Binds and pre-allocations of an earlier term of our own. Those of another leader end with its
// lease.
bool Scheduler::writes_may_arrive() const {
  if (!options_.elected) return false;
  return binder_.counters().in_flight > 0 || client_.loop().now() < open_until() + kTransit;
}

// Requests are answered before the objects that arrived with them are handled. So none is accepted
// before the engine has all pods and their pre-allocations.
void Scheduler::prepare() {
  cluster_cache_.pre_allocations().lead();
  event_queue_.ask(
      [this, alive = alive_, &loop = client_.loop()](const EventQueue::EngineAccess& /*unused*/) {
        loop.post([this, alive] {
          if (*alive) handle(Event::prepared);
        });
      });
}

void Scheduler::open() {
  command_executor_->lead();
  event_queue_.put_reply(core::Lead{});
  if (options_.elected) {
    // Every pending pod arrives at the engine as if it were new, in the order of names.
    for (const auto& [name, pending] : cluster_cache_.pods().all_pending()) {
      event_queue_.put_pod(core::PodPending{pending->spec});
    }
    log_.info("leading: pods are placed from now on",
              {{"waiting", fmt::format("{}", cluster_cache_.sizes().pending)}});
  }
  event_queue_.open();
}

void Scheduler::lead() { handle(Event::lead); }
void Scheduler::stand_down() { handle(Event::stand_down); }

void Scheduler::pause() {
  event_queue_.pause();
  command_executor_->stand_down();
  reaper_.forget_all();
  event_queue_.put_reply(core::StandDown{});
  // Earlier decisions of the engine come back before this.
  event_queue_.ask(
      [this, alive = alive_, &loop = client_.loop()](const EventQueue::EngineAccess& /*unused*/) {
        loop.post([this, alive] {
          if (!*alive) return;
          // Once more: a pre-allocation that was sent earlier may have been handled after the
          // first.
          event_queue_.put_reply(core::StandDown{});
          handle(Event::engine_drained);
        });
      });
}

std::string Scheduler::trouble() const {
  const auto of = [](const char* what, const kube::InformerBase& informer) -> std::string {
    const kube::ReflectorStatus& status = informer.status();
    if (status.synced) return {};
    return status.error.empty() ? fmt::format("the first list of {} is not complete", what)
                                : fmt::format("cannot list {}: {}", what, status.error);
  };
  std::string text = of("nodes", nodes_->informer());
  if (text.empty() && !cluster_cache_.signatures().keys()) text = options_.keys->trouble();
  if (text.empty()) text = of("pods", pods_->informer());
  if (text.empty() && lifecycle_.misses_keys(conditions())) {
    text = "pods are signed by unknown keys: reading the keys again first";
    if (!options_.keys->trouble().empty()) text += "; " + options_.keys->trouble();
  }
  if (text.empty()) text = aux_informers_->trouble();
  return text.empty() && quota_ ? quota_->trouble() : text;
}

// The engine has no clock: pods that back off after a failed bind are tried when it gets the time.
void Scheduler::tick() {
  if (lifecycle_.stopped()) return;
  keys_changed();
  handle(Event::tick);
  if (deciding()) cluster_cache_.external_pods().report_ignored();
  cluster_cache_.kubelets().confirm();
  const auto counters = engine_thread_->snapshot().counters;
  const bool flush = ++ticks_ % kTicksPerFlush == 0 && counters.waiting > 0;
  // Also for nominations and loads that expire, and for pods whose patience ends: only waiting pods
  // have any.
  const bool time_matters = counters.resting > 0 || counters.held > 0 || counters.nominations > 0 ||
                            counters.by_others > 0 || counters.waiting > 0 || counters.loads > 0;
  if (deciding() && time_matters) {
    event_queue_.put_reply(core::Tick{.parked = flush});
  }
  if (!asked_) {
    asked_ = true;
    const bool look = ticks_ % kTicksPerSurvey == 1;
    event_queue_.ask([this, look, alive = alive_,
                      &loop = client_.loop()](const EventQueue::EngineAccess& access) {
      std::optional<core::Survey> survey;
      if (look) survey = take_survey(access.engine.ledger());
      loop.post([this, alive, survey = std::move(survey)] {
        if (!*alive) return;
        asked_ = false;
        last_answer_ = client_.loop().now();
        if (survey) survey_ = *survey;
      });
    });
  }
  ticker_.start(kTick, [this] { tick(); });
}

void Scheduler::stop(net::Duration grace, std::function<void()> done) {
  handle(Event::stop);
  ticker_.cancel();
  reaper_.forget_all();
  nodes_->informer().stop();
  pods_->informer().stop();
  if (quota_) quota_->stop();
  aux_informers_->stop();
  event_queue_.close();
  log_.info("stopping", {{"binds", fmt::format("{}", binder_.counters().in_flight)}});
  const auto drained = [left = std::make_shared<int>(2), done = std::move(done)] {
    if (--*left == 0) done();
  };
  pod_access_.drain(grace, drained);
  binder_.drain(grace, drained);
}

void Scheduler::record_decision(const std::string& pod,
                                std::function<void(Result<std::string>)> done) {
  core::PodSpec spec{.uid = "nobody", .name = "debug/nobody"};
  if (!pod.empty()) {
    const PendingPod* pending = cluster_cache_.pods().pending(cluster_cache_.pods().uid_of(pod));
    if (pending == nullptr) {
      return done(fail(fmt::format("pod {} is not pending", pod)));
    }
    spec = pending->spec;
  }
  event_queue_.ask([alive = alive_, spec = std::move(spec), done = std::move(done),
                    &loop = client_.loop()](const EventQueue::EngineAccess& access) mutable {
    // `done` belongs to the loop's thread and must not be destroyed here.
    loop.post([alive, text = access.engine.record_decision(spec), done = std::move(done)] {
      if (*alive) done(text);
    });
  });
}

std::vector<QueueFill> Scheduler::queues() const {
  const kube::BinderCounters& binder = binder_.counters();
  const kube::EventCounters events = recorder_.counters();
  const kube::ConditionCounters conditions = conditions_.counters();
  const kube::ConditionWriterOptions condition_limits;
  return {
      {.queue = QueueName::binds,
       .size = binder.in_flight + binder.waiting,
       .limit = options_.binds_max},
      {.queue = QueueName::events, .size = events.waiting, .limit = options_.events.waiting_max},
      {.queue = QueueName::event_series,
       .size = events.series,
       .limit = options_.events.series_max},
      {.queue = QueueName::conditions,
       .size = conditions.waiting,
       .limit = condition_limits.waiting_max}};
}

Scheduler::Snapshot Scheduler::snapshot() const {
  const std::chrono::duration<double> silent = client_.loop().now() - last_answer_;
  return {.engine = engine_thread_->snapshot(),
          .cluster_cache = cluster_cache_.sizes(),
          .event_queue = event_queue_.sizes(),
          .command_executor = command_executor_->counters(),
          .binder = binder_.counters(),
          .events = recorder_.counters(),
          .conditions = conditions_.counters(),
          .nodes = nodes_->informer().counters(),
          .pods = pods_->informer().counters(),
          .quota = quota_ ? quota_->counters() : QuotaSource::Counters{},
          .aux_objects = aux_informers_->counters(),
          .queues = queues(),
          .survey = survey_,
          .engine_silent_seconds = silent.count(),
          .loop_longest_turn = net::longest_turn(client_.loop())};
}

}  // namespace stowage::scheduler
