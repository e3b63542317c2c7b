#include "scheduler/scheduler.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "codec/kubernetes.h"
#include "net/loop_health.h"
#include "scheduler/prover.h"

namespace stowage::scheduler {
namespace {

constexpr std::chrono::seconds kTick{1};
// A binding that nobody waits for any more may be so much longer under way than it may take.
constexpr std::chrono::milliseconds kTransit{500};
constexpr std::uint64_t kTicksPerSurvey = 5;
constexpr std::uint64_t kTicksPerFlush = 30;  // parked pods are tried again, come what may
constexpr std::size_t kProverThreads = 4;
constexpr std::size_t kProverAhead = 256;  // pods that wait for their signature to be verified
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

class Scheduler::NodeSink final : public kube::ReflectorSink {
 public:
  explicit NodeSink(Scheduler& owner) : owner_(owner), outage_(owner.options_.outages, "nodes") {}
  void on_list_begin() override { owner_.roster_.begin_nodes(); }
  void on_item(std::string_view json) override { see(json); }
  void on_list_end(std::string_view /*version*/) override {
    owner_.roster_.end_nodes();
    owner_.nodes_listed();
  }
  void on_event(kube::WatchType type, std::string_view json) override {
    if (type != kube::WatchType::deleted) return see(json);
    const std::string name = decoder_.identity(json).name;
    if (!name.empty()) return owner_.roster_.lose_node(name);
    on_bad_line("one was deleted, and its name cannot be read");
  }
  void on_status(const kube::ReflectorStatus& status) override { kube::tell(outage_, status); }
  void on_bad_line(const std::string& error) override {
    owner_.log_.warn("unreadable watch event of a node", {{"why", error}});
    owner_.nodes_->relist_soon();
  }

 private:
  void see(std::string_view json) {
    auto node = decoder_.node(json);
    if (node) return owner_.roster_.see_node(*node);
    const std::string name = decoder_.identity(json).name;
    owner_.log_.warn("unreadable node: what is known of it stays",
                     {{"node", name}, {"why", node.error().message}});
    owner_.roster_.keep_node(name);
  }
  Scheduler& owner_;
  kube::Outages::Source outage_;
  codec::Decoder decoder_;
};

class Scheduler::PodSink final : public kube::ReflectorSink {
 public:
  explicit PodSink(Scheduler& owner) : owner_(owner), outage_(owner.options_.outages, "pods") {}
  void on_list_begin() override {
    owner_.list_counts_ = owner_.leads_ && !owner_.binds_may_arrive();
    owner_.roster_.begin_pods();
    // Later lists bring few that were not seen before. Simulations have no threads.
    const bool first = !owner_.pods_in_ && owner_.client_.loop().schedule() == nullptr;
    prover_ = first ? std::make_unique<Prover>(kProverThreads) : nullptr;
  }
  void on_item(std::string_view json) override {
    if (!prover_) return see(json);
    auto pod = decoder_.pod(json);
    if (!pod) return keep(json, pod.error().message);
    prover_->put(owner_.roster_.keys(), std::move(*pod));
    see_proved(kProverAhead);
  }
  void on_list_end(std::string_view /*version*/) override {
    if (prover_) see_proved(0);
    prover_.reset();
    owner_.roster_.end_pods();
    owner_.promises_.listed();
    owner_.pods_listed();
  }
  void on_event(kube::WatchType type, std::string_view json) override {
    if (type != kube::WatchType::deleted) return see(json);
    const std::string uid = decoder_.identity(json).uid;
    if (uid.empty()) return on_bad_line("one was deleted, and its uid cannot be read");
    owner_.roster_.lose_pod(uid);
    owner_.conditions_.forget(uid);
  }
  void on_status(const kube::ReflectorStatus& status) override { kube::tell(outage_, status); }
  void on_bad_line(const std::string& error) override {
    owner_.log_.warn("unreadable watch event of a pod", {{"why", error}});
    owner_.pods_->relist_soon();
  }

 private:
  void see(std::string_view json) {
    auto pod = decoder_.pod(json);
    if (pod) return owner_.roster_.see_pod(std::move(*pod));
    keep(json, pod.error().message);
  }
  void keep(std::string_view json, const std::string& why) {
    const codec::ObjectIdentity known = decoder_.identity(json);
    owner_.log_.warn("unreadable pod: what is known of it stays",
                     {{"pod", known.ns + "/" + known.name}, {"why", why}});
    owner_.roster_.keep_pod(known.uid);
  }
  void see_proved(std::size_t most) {
    while (auto next = prover_->take(most)) {
      owner_.roster_.see_pod(std::move(next->object), next->check);
    }
  }
  Scheduler& owner_;
  kube::Outages::Source outage_;
  codec::Decoder decoder_;
  std::unique_ptr<Prover> prover_;  // during the first list
};

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
      node_sink_(std::make_unique<NodeSink>(*this)),
      pod_sink_(std::make_unique<PodSink>(*this)),
      ticker_(client.loop()),
      alive_(std::make_shared<bool>(true)) {
  STOWAGE_CHECK(options_.keys != nullptr);
  if (options_.elected) leads_ = false;
  roster_.stand_down();
  roster_.on_unknown_key([this] { key_look_ = options_.keys->look_soon(); });
  roster_.on_promise([this](const Roster::Promised& promised) {
    const std::chrono::nanoseconds left(promised.until.ns - engine_time(client_.loop()).ns);
    promises_.watch({.uid = promised.uid,
                     .pod = {.ns = promised.ns, .name = promised.name},
                     .made = promised.made,
                     .until = client_.loop().now() + left,
                     .node = promised.node});
  });
  roster_.on_other_cards([this](const std::string& node) { promises_.cards_changed(node); });
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
  nodes_ = std::make_unique<kube::Reflector>(
      client, watching(options_.reflector, "/api/v1/nodes", ""), *node_sink_);
  pods_ = std::make_unique<kube::Reflector>(
      client, watching(options_.reflector, "/api/v1/pods", kLivePods), *pod_sink_);
  if (options_.quota.enabled) {
    quota_ =
        std::make_unique<QuotaSource>(options_.quota, options_.reflector,
                                      QuotaSource::Ends{.client = client,
                                                        .mailbox = mailbox_,
                                                        .recorder = recorder_,
                                                        .log = log,
                                                        .outages = options_.outages,
                                                        .on_synced = [this] { open_if_ready(); }});
  }
  things_ = std::make_unique<ThingSource>(
      ThingOptions{.reflector = options_.reflector},
      ThingSource::Ends{
          .client = client,
          .mailbox = mailbox_,
          .log = log,
          .outages = options_.outages,
          .on_synced = [this] { open_if_ready(); },
          .on_claim_changed = [this](const std::string& claim) { outbox_->claim_changed(claim); }});
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
  nodes_->start();
  tick();
}

void Scheduler::nodes_listed() {
  nodes_in_ = true;
  keys_changed();
  start_pods();
}

// What pods say about cards can only be judged by who knows the keys.
void Scheduler::start_pods() {
  if (pods_started_ || stopping_ || !nodes_in_ || !roster_.keys()) return;
  pods_started_ = true;
  pods_->start();  // after the nodes: pods name cards, which are found on nodes
}

void Scheduler::keys_changed() {
  const kube::Keys keys = options_.keys->keys();
  if (stopping_ || !keys || keys == roster_.keys()) return;
  if (roster_.use_keys(keys) && pods_started_) {
    if (!opened_) pods_fresh_ = list_counts_ = false;  // what was promised is in the next list
    listing_again_ = true;
    pods_->relist();
  }
  start_pods();
  open_if_ready();
}

void Scheduler::pods_listed() {
  pods_in_ = true;
  listing_again_ = false;
  if (list_counts_) {
    pods_fresh_ = true;
    awaited_look_ = key_look_;  // pods that come later do not put it off
  }
  open_if_ready();
}

void Scheduler::open_if_ready() {
  if (stopping_ || !pods_in_ || !things_->synced()) return;
  if (quota_ && !quota_->synced()) return;
  if (!std::exchange(synced_, true)) {
    const auto sizes = roster_.sizes();
    const std::chrono::duration<double> took = client_.loop().now() - started_;
    log_.info("ready: the first lists are in", {{"nodes", fmt::format("{}", sizes.nodes)},
                                                {"pods", fmt::format("{}", sizes.pods)},
                                                {"waiting", fmt::format("{}", sizes.wanting)},
                                                {"seconds", fmt::format("{:.2f}", took.count())}});
  }
  if (opened_ || preparing_ || !leads_ || !engine_settled_ || binds_may_arrive()) return;
  // Whoever led before has ended: what it wrote without a signature was written before this.
  if (!roster_.keys()->signs || !roster_.keys()->began_unix) return options_.keys->begin();
  if (!pods_fresh_) {
    // What was bound before we led is in the list for certain, in what we watched perhaps not yet.
    if (!std::exchange(listing_again_, true)) pods_->relist();
    return;
  }
  // Another replica may have promised cards by a key that we have not read yet.
  if (!keys_looked_at()) return;
  prepare();
}

bool Scheduler::keys_looked_at() const {
  return options_.keys->looked() >= awaited_look_ && options_.keys->keys() == roster_.keys();
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
  preparing_ = true;
  roster_.lead();
  mailbox_.ask([this, alive = alive_, &loop = client_.loop()](const Mailbox::Hearing& /*unused*/) {
    loop.post([this, alive] {
      if (*alive && std::exchange(preparing_, false)) open();
    });
  });
}

void Scheduler::open() {
  opened_ = true;
  outbox_->lead();
  mailbox_.put_reply(core::Lead{});
  if (options_.elected) {
    roster_.tell_wanting_again();
    log_.info("leading: pods are placed from now on",
              {{"waiting", fmt::format("{}", roster_.sizes().wanting)}});
  }
  mailbox_.open();
}

void Scheduler::lead() {
  if (leads_ || stopping_) return;
  leads_ = true;
  pods_fresh_ = list_counts_ = listing_again_ = false;
  open_if_ready();
}

void Scheduler::stand_down() {
  if (!leads_) return;
  leads_ = false;
  opened_ = preparing_ = false;
  engine_settled_ = false;
  mailbox_.hold_back();
  outbox_->stand_down();
  promises_.forget_all();
  mailbox_.put_reply(core::StandDown{});
  // What the engine had decided before comes back before this does.
  mailbox_.ask([this, alive = alive_, &loop = client_.loop()](const Mailbox::Hearing& /*unused*/) {
    loop.post([this, alive] {
      if (!*alive) return;
      engine_settled_ = true;
      // Once more: a promise that was told before may have been looked at after it.
      mailbox_.put_reply(core::StandDown{});
      open_if_ready();
    });
  });
}

std::string Scheduler::trouble() const {
  const auto of = [](const char* what, const kube::Reflector& reflector) -> std::string {
    const kube::ReflectorStatus& status = reflector.status();
    if (status.synced) return {};
    return status.error.empty() ? fmt::format("the first list of {} is not in yet", what)
                                : fmt::format("cannot list {}: {}", what, status.error);
  };
  std::string text = of("nodes", *nodes_);
  if (text.empty() && !roster_.keys()) text = options_.keys->trouble();
  if (text.empty()) text = of("pods", *pods_);
  if (text.empty() && leads_ && !opened_ && !keys_looked_at()) {
    text = "pods are signed by keys that are not known here: the keys are read again first";
    if (!options_.keys->trouble().empty()) text += "; " + options_.keys->trouble();
  }
  if (text.empty()) text = things_->trouble();
  return text.empty() && quota_ ? quota_->trouble() : text;
}

// The engine has no clock: pods that rest after a failed bind are tried when it is told the time.
void Scheduler::tick() {
  if (stopping_) return;
  keys_changed();
  if (leads_ && !opened_) open_if_ready();
  if (opened_) roster_.tell_unlooked();
  roster_.believe_kubelets();
  const auto counters = runner_->picture().counters;
  const bool flush = ++ticks_ % kTicksPerFlush == 0 && counters.waiting > 0;
  // Also for rooms that run out, for loads that do, and for pods whose patience does: only those
  // that wait have any.
  const bool time_matters = counters.resting > 0 || counters.held > 0 || counters.rooms > 0 ||
                            counters.by_others > 0 || counters.waiting > 0 || counters.loads > 0;
  if (opened_ && time_matters) {
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
  stopping_ = true;
  preparing_ = false;
  ticker_.cancel();
  promises_.forget_all();
  nodes_->stop();
  pods_->stop();
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
    const Roster::Wanting* wanting = roster_.wanting(roster_.uid_of(pod));
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
          .nodes = nodes_->counters(),
          .pods = pods_->counters(),
          .quota = quota_ ? quota_->counters() : QuotaSource::Counters{},
          .things = things_->counters(),
          .queues = queues(),
          .survey = survey_,
          .engine_silent_seconds = silent.count(),
          .loop_longest_turn = net::longest_turn(client_.loop())};
}

}  // namespace stowage::scheduler
