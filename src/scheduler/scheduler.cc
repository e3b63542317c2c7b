#include "scheduler/scheduler.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "net/loop_health.h"

namespace stowage::scheduler {
namespace {

constexpr std::chrono::seconds kTick{1};
// A binding that nobody waits for any more may be so much longer under way than it may take.
constexpr std::chrono::milliseconds kTransit{500};
constexpr std::uint64_t kTicksPerSurvey = 5;
constexpr std::uint64_t kTicksPerFlush = 30;  // parked pods are tried again, come what may
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
  for (const auto& policy : options.guest_policies) policies.push_back(policy);
  return policies;
}

Roster::Clock roster_clock(kube::ApiClient& client) {
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
      roster_(
          options_.profiles, mailbox_, [this](const Notice& notice) { outbox_->tell(notice); },
          roster_clock(client)),
      promises_(
          {}, {.roster = roster_, .mailbox = mailbox_, .pods = pod_access_, .loop = client.loop()}),
      ticker_(client.loop()),
      alive_(std::make_shared<bool>(true)),
      lifecycle_(options_.elected ? Lifecycle::Leads::when_elected : Lifecycle::Leads::from_start) {
  STOWAGE_CHECK(options_.keys != nullptr);
  roster_.stand_down();
  roster_.signatures().on_unknown_key(
      [this] { lifecycle_.unknown_key(options_.keys->look_soon()); });
  roster_.pre_allocations().on_promise([this](const PreAllocations::Promised& promised) {
    const std::chrono::nanoseconds left(promised.until.ns - engine_time(client_.loop()).ns);
    promises_.watch({.uid = promised.uid,
                     .pod = {.ns = promised.ns, .name = promised.name},
                     .made = promised.made,
                     .until = client_.loop().now() + left,
                     .node = promised.node});
  });
  roster_.pre_allocations().on_other_cards(
      [this](const std::string& node) { promises_.cards_changed(node); });
  roster_.on_guest([this](const dialect::PodObject& pod) { promises_.saw(pod); });
  outbox_ = std::make_unique<Outbox>(
      Outbox::Options{.claims = options_.claims, .profiles = options_.profiles},
      Outbox::Ends{
          .roster = roster_,
          .mailbox = mailbox_,
          .binder = binder_,
          .recorder = recorder_,
          .conditions = conditions_,
          .pods = pod_access_,
          .objects = objects_,
          .loop = client.loop(),
          .log = log,
          .wall_clock = client.wall_clock(),
          .claim = [this](const std::string& name) { return things_->claim(name); },
          .on_claims_waiting = [this](std::size_t pods) { runner_->set_slow_binds(pods); }});
  if (options_.elected) outbox_->stand_down();
  make_sources();
  const auto carry_out = [this, alive = alive_, &loop = client.loop()](core::Commands commands) {
    loop.post([this, alive, commands = std::move(commands)] {
      if (*alive) outbox_->carry_out(commands);
    });
  };
  runner_ = std::make_unique<Runner>(Runner::Options{.profiles = policies_of(options_),
                                                     .binds_max = options_.binds_max,
                                                     .engine = options_.engine},
                                     mailbox_, client.loop(), carry_out);
}

void Scheduler::make_sources() {
  nodes_ = std::make_unique<NodeSource>(watching(options_.reflector, "/api/v1/nodes", ""),
                                        NodeSource::Ends{.client = client_,
                                                         .roster = roster_,
                                                         .log = log_,
                                                         .outages = options_.outages,
                                                         .on_listed = [this] {
                                                           keys_changed();
                                                           handle(Event::nodes_listed);
                                                         }});
  pods_ = std::make_unique<PodSource>(
      watching(options_.reflector, "/api/v1/pods", kLivePods),
      PodSource::Ends{.client = client_,
                      .roster = roster_,
                      .log = log_,
                      .outages = options_.outages,
                      .on_list_began = [this] { handle(Event::pods_list_began); },
                      .on_listed =
                          [this] {
                            promises_.listed();
                            handle(Event::pods_listed);
                          },
                      .on_deleted = [this](const std::string& uid) { conditions_.forget(uid); }});
  roster_.on_expected([this](const std::string& uid) { pods_->informer().expect(uid); });
  if (options_.quota.enabled) {
    quota_ = std::make_unique<QuotaSource>(
        options_.quota, options_.reflector,
        QuotaSource::Ends{.client = client_,
                          .mailbox = mailbox_,
                          .recorder = recorder_,
                          .log = log_,
                          .outages = options_.outages,
                          .on_synced = [this] { handle(Event::others_synced); }});
  }
  things_ = std::make_unique<ThingSource>(
      ThingOptions{.reflector = options_.reflector},
      ThingSource::Ends{
          .client = client_,
          .mailbox = mailbox_,
          .log = log_,
          .outages = options_.outages,
          .on_synced = [this] { handle(Event::others_synced); },
          .on_claim_changed = [this](const std::string& claim) { outbox_->claim_changed(claim); }});
}

Scheduler::~Scheduler() {
  *alive_ = false;
  runner_.reset();
}

Scheduler::Shared Scheduler::shared() {
  return {.mailbox = mailbox_,
          .roster = roster_,
          .outbox = *outbox_,
          .promises = promises_,
          .pods = pod_access_,
          .recorder = recorder_,
          .loop = client_.loop(),
          .wall_clock = client_.wall_clock(),
          .first_guest_profile = static_cast<std::uint32_t>(options_.profiles.size())};
}

void Scheduler::start() {
  started_ = last_answer_ = client_.loop().now();
  runner_->start();
  if (quota_) quota_->start();
  things_->start();
  nodes_->informer().start();
  tick();
}

void Scheduler::keys_changed() {
  const kube::Keys keys = options_.keys->keys();
  if (lifecycle_.stopped() || !keys || keys == roster_.signatures().keys()) return;
  handle(roster_.use_keys(keys) ? Event::pods_need_relist : Event::keys_changed);
}

void Scheduler::handle(Event event) {
  for (const Lifecycle::Action action : lifecycle_.handle(event, conditions())) carry_out(action);
}

Lifecycle::Conditions Scheduler::conditions() const {
  const kube::Keys& keys = roster_.signatures().keys();
  return {.keys_known = keys != nullptr,
          .others_synced = things_->synced() && (!quota_ || quota_->synced()),
          .binds_may_arrive = binds_may_arrive(),
          .signs = keys && keys->signs && keys->began_unix,
          .keys_current = options_.keys->keys() == keys,
          .key_looks = options_.keys->looked()};
}

void Scheduler::carry_out(Lifecycle::Action action) {
  using Action = Lifecycle::Action;
  switch (action) {
    case Action::start_pods: return pods_->informer().start();
    case Action::relist_pods: return pods_->informer().relist();
    case Action::report_synced: return report_synced();
    case Action::begin_signing: return options_.keys->begin();
    case Action::prepare: return prepare();
    case Action::open: return open();
    case Action::hold_back: return hold_back();
  }
}

void Scheduler::report_synced() {
  const auto sizes = roster_.sizes();
  const std::chrono::duration<double> took = client_.loop().now() - started_;
  log_.info("ready: the first lists are in", {{"nodes", fmt::format("{}", sizes.nodes)},
                                              {"pods", fmt::format("{}", sizes.pods)},
                                              {"waiting", fmt::format("{}", sizes.wanting)},
                                              {"seconds", fmt::format("{:.2f}", took.count())}});
}

// Of an earlier term of our own. Those of another leader have ended when its lease has.
bool Scheduler::binds_may_arrive() const {
  if (!options_.elected) return false;
  const kube::BinderCounters counters = binder_.counters();
  return counters.in_flight > 0 || client_.loop().now() < counters.open_until + kTransit;
}

// Questions are answered before the objects that came with them are looked at. So none is let in
// before the engine has been told of all pods, and of what was promised to them.
void Scheduler::prepare() {
  roster_.lead();
  mailbox_.ask([this, alive = alive_, &loop = client_.loop()](const Mailbox::Hearing& /*unused*/) {
    loop.post([this, alive] {
      if (*alive) handle(Event::prepared);
    });
  });
}

void Scheduler::open() {
  outbox_->lead();
  mailbox_.put_reply(core::Lead{});
  if (options_.elected) {
    roster_.tell_wanting_again();
    log_.info("leading: pods are placed from now on",
              {{"waiting", fmt::format("{}", roster_.sizes().wanting)}});
  }
  mailbox_.open();
}

void Scheduler::lead() { handle(Event::lead); }
void Scheduler::stand_down() { handle(Event::stand_down); }

void Scheduler::hold_back() {
  mailbox_.hold_back();
  outbox_->stand_down();
  promises_.forget_all();
  mailbox_.put_reply(core::StandDown{});
  // What the engine had decided before comes back before this does.
  mailbox_.ask([this, alive = alive_, &loop = client_.loop()](const Mailbox::Hearing& /*unused*/) {
    loop.post([this, alive] {
      if (!*alive) return;
      // Once more: a promise that was told before may have been looked at after it.
      mailbox_.put_reply(core::StandDown{});
      handle(Event::engine_settled);
    });
  });
}

std::string Scheduler::trouble() const {
  const auto of = [](const char* what, const kube::InformerBase& informer) -> std::string {
    const kube::ReflectorStatus& status = informer.status();
    if (status.synced) return {};
    return status.error.empty() ? fmt::format("the first list of {} is not in yet", what)
                                : fmt::format("cannot list {}: {}", what, status.error);
  };
  std::string text = of("nodes", nodes_->informer());
  if (text.empty() && !roster_.signatures().keys()) text = options_.keys->trouble();
  if (text.empty()) text = of("pods", pods_->informer());
  if (text.empty() && lifecycle_.misses_keys(conditions())) {
    text = "pods are signed by keys that are not known here: the keys are read again first";
    if (!options_.keys->trouble().empty()) text += "; " + options_.keys->trouble();
  }
  if (text.empty()) text = things_->trouble();
  return text.empty() && quota_ ? quota_->trouble() : text;
}

// The engine has no clock: pods that rest after a failed bind are tried when it is told the time.
void Scheduler::tick() {
  if (lifecycle_.stopped()) return;
  keys_changed();
  handle(Event::tick);
  if (deciding()) roster_.tell_unlooked();
  roster_.believe_kubelets();
  const auto counters = runner_->picture().counters;
  const bool flush = ++ticks_ % kTicksPerFlush == 0 && counters.waiting > 0;
  // Also for rooms that run out, for loads that do, and for pods whose patience does: only those
  // that wait have any.
  const bool time_matters = counters.resting > 0 || counters.held > 0 || counters.rooms > 0 ||
                            counters.by_others > 0 || counters.waiting > 0 || counters.loads > 0;
  if (deciding() && time_matters) {
    mailbox_.put_reply(core::Tick{.parked = flush});
  }
  if (!asked_) {
    asked_ = true;
    const bool look = ticks_ % kTicksPerSurvey == 1;
    mailbox_.ask(
        [this, look, alive = alive_, &loop = client_.loop()](const Mailbox::Hearing& hearing) {
          std::optional<core::Survey> survey;
          if (look) survey = hearing.engine.ledger().survey();
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
  promises_.forget_all();
  nodes_->informer().stop();
  pods_->informer().stop();
  if (quota_) quota_->stop();
  things_->stop();
  mailbox_.close();
  log_.info("stopping", {{"binds", fmt::format("{}", binder_.counters().in_flight)}});
  binder_.drain(grace, std::move(done));
}

void Scheduler::record_decision(const std::string& pod,
                                std::function<void(Result<std::string>)> done) {
  core::PodSpec spec{.uid = "nobody", .name = "debug/nobody"};
  if (!pod.empty()) {
    const Wanting* wanting = roster_.pods().wanting(roster_.pods().uid_of(pod));
    if (wanting == nullptr) {
      return done(fail(fmt::format("pod {} is not waiting for a place", pod)));
    }
    spec = wanting->spec;
  }
  mailbox_.ask([alive = alive_, spec = std::move(spec), done = std::move(done),
                &loop = client_.loop()](const Mailbox::Hearing& hearing) mutable {
    // `done` is of the loop's thread, and must not end here.
    loop.post([alive, text = hearing.engine.record_decision(spec), done = std::move(done)] {
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
      {.name = "binds", .size = binder.in_flight + binder.waiting, .limit = options_.binds_max},
      {.name = "events", .size = events.waiting, .limit = options_.events.waiting_max},
      {.name = "event_series", .size = events.series, .limit = options_.events.series_max},
      {.name = "conditions", .size = conditions.waiting, .limit = condition_limits.waiting_max}};
}

Scheduler::Picture Scheduler::picture() const {
  const std::chrono::duration<double> silent = client_.loop().now() - last_answer_;
  return {.engine = runner_->picture(),
          .roster = roster_.sizes(),
          .mailbox = mailbox_.sizes(),
          .outbox = outbox_->counters(),
          .binder = binder_.counters(),
          .events = recorder_.counters(),
          .conditions = conditions_.counters(),
          .nodes = nodes_->informer().counters(),
          .pods = pods_->informer().counters(),
          .quota = quota_ ? quota_->counters() : QuotaSource::Counters{},
          .things = things_->counters(),
          .queues = queues(),
          .survey = survey_,
          .engine_silent_seconds = silent.count(),
          .loop_longest_turn = net::longest_turn(client_.loop())};
}

}  // namespace stowage::scheduler
