#include "controller/controller.h"

#include <random>
#include <utility>

#include <fmt/format.h>

#include "base/version.h"
#include "controller/apply_reports.h"
#include "controller/config_check.h"

namespace stowage::controller {
namespace {

constexpr std::chrono::seconds kStopGrace{5};
constexpr std::chrono::milliseconds kAskEvery{20};
constexpr std::chrono::seconds kSlowAfter{10};
constexpr std::chrono::seconds kPastKept{60};  // for its remaining writes
constexpr std::chrono::milliseconds kLastRequests{500};
constexpr std::chrono::seconds kLastWords{3};  // for its remaining writes when the process ends

// Unique per process: a restart gets another suffix.
std::string identity() {
  std::random_device random;
  return fmt::format("{}_{:08x}{:08x}", host_name(), random(), random());
}

ReportTarget report_target(Generation& generation, NodePublisher& publisher) {
  const auto shared = generation.scheduler().shared();
  return {.cluster_cache = shared.cluster_cache,
          .event_queue = shared.event_queue,
          .publisher = &publisher};
}

bool has_to_write(const Generation& generation) {
  const auto snapshot = generation.scheduler().snapshot();
  return snapshot.events.waiting > 0 || snapshot.conditions.waiting > 0 ||
         snapshot.conditions.in_flight > 0;
}

// Where other replicas reach the servers of this one.
codec::LeaderNote leader_note(const ControllerOptions& options, const Generation& generation,
                              const Hub* hub) {
  const auto reachable = [&options](const std::string& listens_on) {
    return advertised_host({.advertise = options.config.leader_election.advertise,
                            .listens_on = listens_on,
                            .api_server = options.cluster.server,
                            .environment = options.environment});
  };
  codec::LeaderNote note;
  for (const auto& server : generation.extenders()) {
    note.extenders.emplace(server->extender().options().name,
                           server->url(reachable(server->host())));
  }
  if (hub != nullptr) note.agents = hub->url(reachable(hub->host()));
  return note;
}

// Asks the extender of this name; the first one if the name is empty.
void ask_extender(const Generation& generation, const std::string& name, extender::Verb verb,
                  std::string body, extender::Answer answer) {
  for (const auto& server : generation.extenders()) {
    if (!name.empty() && server->extender().options().name != name) continue;
    return server->ask(verb, std::move(body), std::move(answer));
  }
  answer({.status = 501, .body = "no extender is configured for this API\n"});
}

}  // namespace

Controller::Controller(net::EventLoop& loop, ControllerOptions options, base::Log& log)
    : loop_(loop),
      options_(std::move(options)),
      log_(log),
      past_(loop),
      exchange_timer_(loop),
      progress_(loop, log, [this] { return now_->scheduler().snapshot(); }),
      heap_(loop) {}

Controller::~Controller() = default;

Result<std::unique_ptr<Controller>> Controller::create(net::EventLoop& loop,
                                                       ControllerOptions options, base::Log& log) {
  std::unique_ptr<Controller> made(new Controller(loop, std::move(options), log));
  const Config& config = made->options_.config;
  kube::ApiClientOptions client;
  client.calls_per_second = config.api.calls_per_second;
  client.burst = config.api.burst;
  client.in_flight_max = std::size_t{config.api.binds_in_flight} + 32;
  auto api = kube::ApiClient::create(loop, made->options_.cluster, client);
  if (!api) return fail(api.error().message);
  made->client_ = std::move(*api);
  made->outages_ = std::make_shared<kube::Outages>(loop, log);
  STOWAGE_TRY_VOID(made->make_keys());
  STOWAGE_TRY_ASSIGN(
      made->now_,
      Generation::create(config, made->generation_deps(config.leader_election.enabled), nullptr));
  STOWAGE_TRY_VOID(made->listen());
  made->make_publisher();
  STOWAGE_TRY_VOID(made->make_hub());
  if (config.leader_election.enabled) made->make_leadership();
  return made;
}

Status Controller::make_keys() {
  const Config::Signing& config = options_.config.signing;
  const auto changed = [this] {
    for (Generation* generation : {now_.get(), next_.generation.get()}) {
      if (generation != nullptr) generation->scheduler().keys_changed();
    }
  };
  if (!config.key_file.empty()) {
    auto file = std::make_shared<kube::KeyFile>(
        loop_, kube::KeyFileOptions{.path = config.key_file, .began_unix = config.unsigned_until},
        log_, changed);
    STOWAGE_TRY_VOID(file->start());
    keys_ = std::move(file);
    return {};
  }
  kube::KeyManagerOptions options;
  options.ns = own_namespace(config.ns, options_.environment);
  options.secret = config.secret;
  options.config_map = config.config_map;
  options.seed = std::random_device{}();
  auto keeper = std::make_shared<kube::KeyManager>(
      std::move(options),
      kube::KeyManager::Deps{.client = *client_, .log = log_, .changed = changed});
  keeper_ = keeper.get();
  keys_ = std::move(keeper);
  return {};
}

Generation::Deps Controller::generation_deps(bool elected) {
  Generation::Deps deps{.client = *client_,
                        .log = log_,
                        .outages = outages_,
                        .keys = keys_,
                        .fence = {},
                        .leads = [this] { return leads(); },
                        .not_ready = [this] { return trouble(); }};
  if (elected) {
    deps.fence = [this] { return leadership_ ? leadership_->fence() : net::Moment::max(); };
  }
  return deps;
}

Status Controller::listen() {
  STOWAGE_TRY(
      status,
      StatusServer::listen(
          {.listen = options_.config.listen, .loopback_trusted = options_.config.debug.loopback},
          {.client = *client_,
           .log = log_,
           .trouble = [this] { return trouble(); },
           .metrics = [this] { return metrics(); },
           .scheduler = [this]() -> scheduler::Scheduler& { return now_->scheduler(); }}));
  status_ = std::move(status);
  const ConfigSource& source = options_.source;
  if (source.path.empty()) return {};
  watch_ = std::make_unique<ConfigWatch>(
      loop_, ConfigWatch::Options{.path = source.path, .text = source.text},
      ConfigWatch::Deps{.changed = [this](const std::string& text) { take(text); },
                        .unreadable = [this](const std::string& why) { keep_old(why); }});
  return {};
}

// ---- leadership

void Controller::make_leadership() {
  Config::LeaderElection config = options_.config.leader_election;
  config.ns = own_namespace(config.ns, options_.environment);
  // While one generation ends, the next one waits: it learns of leadership when it takes over.
  leadership_ = std::make_unique<Leadership>(
      elector_options(config, identity(), leader_note(options_, *now_, hub_.get())),
      Leadership::Deps{.client = *client_,
                       .log = log_,
                       .outages = outages_,
                       .lead =
                           [this] {
                             if (!exchanging_) now_->scheduler().lead();
                             tell_hub();
                           },
                       .stand_down =
                           [this] {
                             if (!exchanging_) now_->scheduler().stand_down();
                             tell_hub();
                           },
                       .deciding = [this] { return now_->scheduler().deciding(); },
                       .open_until = [this] { return now_->open_until(); },
                       .on_leader = [this](const LeaderAddress& place) { tell_leader(place); }});
}

// ---- agents

void Controller::make_publisher() {
  publisher_ = std::make_unique<NodePublisher>(
      NodePublisherOptions{.amounts = options_.config.node_resources.amounts(),
                           .seed = std::random_device{}()},
      NodePublisher::Deps{
          .client = *client_,
          .log = log_,
          .nodes = [this]() -> const scheduler::NodeCache& {
            return now_->scheduler().shared().cluster_cache.nodes();
          },
          .leads = [this] { return !exchanging_ && leads() && now_->scheduler().deciding(); }});
}

Status Controller::make_hub() {
  const Config::Agents& agents = options_.config.agents;
  if (agents.listen.empty()) return {};
  const Config& config = options_.config;
  Hub::Deps deps{.loop = loop_,
                 .log = log_,
                 .take =
                     [this](const auto& batch) {
                       apply_reports(batch,
                                     {.engine_now = scheduler::engine_time(loop_),
                                      .now = loop_.now(),
                                      .load_counts = options_.config.agents.load_counts},
                                     report_target(*now_, *publisher_));
                     },
                 .ask =
                     [this](extender::Verb verb, std::string body, extender::Answer answer) {
                       // `now_` may have other extenders than the first generation.
                       ask_extender(*now_, options_.config.metrics_api.extender, verb,
                                    std::move(body), std::move(answer));
                     }};
  STOWAGE_TRY_ASSIGN(hub_,
                     Hub::create({.agents = agents,
                                  .api = config.metrics_api,
                                  .webhook = config.webhook,
                                  .webhook_dialects = config.node_resources.dialects,
                                  .ns = own_namespace(config.metrics_api.ns, options_.environment),
                                  .cluster = options_.cluster},
                                 std::move(deps)));
  watch_nodes(*now_);
  return {};
}

void Controller::watch_nodes(Generation& generation) {
  if (!hub_) return;
  const ReportTarget to = report_target(generation, *publisher_);
  hub_->set_all_cards(to.cluster_cache.nodes().all_cards());
  to.cluster_cache.on_cards([this, to](const std::string& node, const Hub::Cards* cards) {
    if (cards != nullptr) return hub_->set_cards(node, *cards);
    hub_->forget(node);
    forget_reports(node, to);
  });
}

void Controller::tell_hub() {
  if (hub_) hub_->set_leader({.here = leads(), .url = leader_.note.agents});
}

void Controller::tell_leader(const LeaderAddress& place) {
  leader_ = place;
  tell_hub();
  for (const auto& server : now_->extenders()) {
    const auto& name = server->extender().options().name;
    const auto found = place.note.extenders.find(name);
    const bool known = found != place.note.extenders.end();
    const std::string why = !place.why.empty() ? place.why : "the leader has no extender " + name;
    server->forwarder().set_leader({.url = known ? found->second : "", .why = known ? "" : why});
  }
}

// ---- accessors

std::vector<std::pair<std::string, std::string>> Controller::extender_addresses() const {
  std::vector<std::pair<std::string, std::string>> addresses;
  for (const auto& server : now_->extenders()) {
    const auto& options = server->extender().options();
    addresses.emplace_back(options.name,
                           (options.tls ? "https://" : "http://") + server->address());
  }
  return addresses;
}

std::string Controller::address() const { return status_->address(); }

std::string Controller::agents_address() const { return hub_ ? hub_->url(hub_->host()) : ""; }

bool Controller::ready() const { return trouble().empty(); }

std::string Controller::trouble() const {
  const scheduler::Scheduler& scheduler = now_->scheduler();
  if (!scheduler.ready()) return scheduler.trouble();
  if (leads() && !scheduler.deciding() && !keys_->trouble().empty()) return keys_->trouble();
  if (leadership_) return leadership_->trouble();
  return scheduler.deciding() ? "" : "not all pods have been read yet";
}

void Controller::start() {
  std::string names;
  for (const auto& profile : options_.config.profiles) {
    names += (names.empty() ? "" : ",") + profile.name;
  }
  log_.info("starting", {{"version", std::string(base::kVersion)},
                         {"server", options_.cluster.server_url},
                         {"from", options_.cluster.origin},
                         {"profiles", names},
                         {"listen", address()}});
  for (const auto& [name, url] : extender_addresses()) {
    log_.info("extender", {{"name", name}, {"listen", url}});
  }
  if (hub_) {
    log_.info("listening for agents", {{"listen", agents_address()}});
    tell_hub();
    hub_->start();
  }
  if (keeper_ != nullptr) keeper_->start();
  now_->scheduler().start();
  if (leadership_) leadership_->start();
  if (watch_) watch_->start();
  publisher_->start();
  progress_.start();
}

std::string Controller::metrics() const {
  std::vector<ExtenderSnapshot> extenders;
  for (const auto& server : now_->extenders()) {
    extenders.push_back({.name = server->extender().options().name,
                         .counters = server->extender().counters(),
                         .forwarded = server->forwarder().counters(),
                         .waited = server->pending_requests().waited(),
                         .queues = server->queues()});
  }
  const Leadership::Snapshot alone{.leads = true, .counters = {}};
  return render_metrics({.scheduler = now_->scheduler().snapshot(),
                         .api = client_->counters(),
                         .extenders = extenders,
                         .leadership = leadership_ ? leadership_->snapshot() : alone,
                         .reload = reloads_,
                         .auth = status_->auth(),
                         .heap = heap_snapshot(),
                         .agents = hub_ ? std::optional(hub_->snapshot()) : std::nullopt,
                         .publisher = publisher_->counters(),
                         .ready = ready()});
}

// ---- a changed configuration

void Controller::reload() {
  if (!watch_) return log_.warn("there is no configuration file to read again");
  if (!watch_->look()) log_.info("the configuration has not changed");
}

void Controller::keep_old(const std::string& why) {
  ++reloads_.failures;
  reloads_.newest = false;
  log_.error("the new configuration cannot be used, keeping the old one", {{"why", why}});
}

void Controller::take(const std::string& text) {
  if (stopped_) return;
  if (exchanging_) {
    pending_ = text;
    return;
  }
  next_.generation.reset();
  exchange_timer_.cancel();
  auto fresh = options_.source.parse(text);
  if (!fresh) return keep_old(fresh.error().message);
  auto made = Generation::create(*fresh, generation_deps(true), now_.get());
  if (!made) return keep_old(made.error().message);
  for (const std::string& warning : warnings_of(*fresh)) log_.warn(warning);
  for (const std::string& key : keys_that_need_restart(options_.config, *fresh)) {
    log_.warn("this change takes effect after a restart of the process", {{"key", key}});
  }
  log_.info("the configuration has changed: reading the cluster for the new one");
  next_ = {.generation = std::move(*made), .config = std::move(*fresh), .since = loop_.now()};
  reloads_.newest = false;
  next_.generation->scheduler().start();
  exchange_when_ready();
}

void Controller::exchange_when_ready() {
  if (next_.generation->scheduler().ready()) return exchange();
  if (loop_.now() - next_.since > kSlowAfter && !std::exchange(next_.slow_told, true)) {
    log_.warn("the new configuration is not in force yet",
              {{"why", next_.generation->scheduler().trouble()}});
  }
  exchange_timer_.start(kAskEvery, [this] { exchange_when_ready(); });
}

void Controller::exchange() {
  exchanging_ = true;
  now_->stop(kStopGrace, [this] { take_over(); });
}

// Like one replica from another: no request of the previous generation may arrive any more, and all
// pods are listed once more before anything is decided.
void Controller::take_over() {
  if (stopped_) return finish_stop();
  if (loop_.now() < now_->open_until()) {
    exchange_timer_.start(kAskEvery, [this] { take_over(); });
    return;
  }
  exchanging_ = false;
  past_.generation = std::move(now_);
  now_ = std::move(next_.generation);
  if (next_.config.log.level != options_.config.log.level) {
    log_.set_level(next_.config.log.level);
  }
  const Config old = std::exchange(options_.config, std::move(next_.config));
  keep_until_restart(old, options_.config);
  publisher_->set_amounts(options_.config.node_resources.amounts());
  watch_nodes(*now_);
  tell_leader(leader_);
  if (leadership_) leadership_->set_note(leader_note(options_, *now_, hub_.get()));
  if (leads()) now_->scheduler().lead();
  now_->accept();
  past_.generation->succeed(*now_);
  past_.closed = false;
  past_.generation->shutdown(kStopGrace, [this] { past_.closed = true; });
  progress_.reset();
  ++reloads_.reloads;
  reloads_.newest = true;
  log_.info("the new configuration is in force");
  past_.until = loop_.now() + kPastKept;
  forget_past();
  if (!pending_.empty()) take(std::exchange(pending_, {}));
}

// It decides nothing, but still writes events about its decisions.
void Controller::forget_past() {
  const bool busy = !past_.closed || has_to_write(*past_.generation);
  if (busy && loop_.now() < past_.until) {
    past_.timer.start(kAskEvery, [this] { forget_past(); });
    return;
  }
  // Not inside one of its own calls.
  past_.timer.start(kAskEvery, [this] { past_.generation.reset(); });
}

// ---- the end

void Controller::stop(std::function<void()> done) {
  stopped_ = std::move(done);
  progress_.stop();
  if (watch_) watch_->stop();
  if (exchanging_) return;  // finish_stop() follows by itself
  exchange_timer_.cancel();
  next_.generation.reset();
  now_->stop(kStopGrace, [this] { finish_stop(); });
}

void Controller::finish_stop() {
  const auto& binder = now_->scheduler().snapshot().binder;
  log_.info("stopped", {{"bound", fmt::format("{}", binder.bound)}});
  past_.until = loop_.now() + kLastWords;
  if (!leadership_) return last_words();
  leadership_->stop([this] {
    leadership_->follow();
    last_words();
  });
}

// Requests that arrived meanwhile are for the next leader, and events are written about what was
// done.
void Controller::last_words() {
  const bool busy = (leadership_ && now_->questions_wait()) || has_to_write(*now_);
  if (busy && loop_.now() < past_.until) {
    past_.timer.start(kAskEvery, [this] { last_words(); });
    return;
  }
  now_->shutdown(kLastRequests, [this] {
    status_->shutdown(std::chrono::milliseconds{100}, std::move(stopped_));
  });
}

}  // namespace stowage::controller
