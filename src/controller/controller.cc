#include "controller/controller.h"

#include <array>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/version.h"
#include "controller/metrics.h"
#include "net/address.h"

namespace stowage::controller {
namespace {

constexpr std::chrono::seconds kStopGrace{5};
constexpr std::chrono::seconds kSummaryEvery{10};
constexpr double kEngineStuckSeconds = 60;

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

scheduler::SchedulerOptions scheduler_options(const Config& config) {
  scheduler::SchedulerOptions options;
  options.profiles = config.profiles;
  options.quota = config.quota;
  options.engine = config.engine;
  options.claims.limit = config.volume_timeout;
  for (const auto& extender : config.extenders) {
    for (const auto& entry : extender.policies) options.guest_policies.push_back(entry.policy);
  }
  options.binder.in_flight_max = config.api.binds_in_flight;
  options.binds_max = std::size_t{8} * config.api.binds_in_flight;
  options.events.controller = config.profiles.front().name;
  options.events.instance = host_name();
  options.events.per_second = config.events.per_second;
  options.events.burst = config.events.burst;
  return options;
}

net::HttpResponse plain(int status, std::string text) {
  return {.status = status,
          .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
          .body = std::move(text)};
}

bool from_loopback(const std::string& peer) {
  return peer.starts_with("127.") || peer.starts_with("[::1]") || peer.starts_with("::1") ||
         peer.starts_with("[::ffff:127.") || peer.starts_with("::ffff:127.");
}

}  // namespace

Controller::Controller(net::EventLoop& loop, ControllerOptions options, base::Log& log)
    : loop_(loop), options_(std::move(options)), log_(log), summary_timer_(loop) {}

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
  made->scheduler_ =
      std::make_unique<scheduler::Scheduler>(*made->client_, scheduler_options(config), log);
  STOWAGE_TRY_VOID(made->listen());
  STOWAGE_TRY_VOID(made->listen_extenders());
  return made;
}

Status Controller::listen() {
  STOWAGE_TRY(address, net::parse_listen(options_.config.listen));
  net::HttpServerOptions options;
  options.address = address.host;
  options.port = address.port;
  options.body_bytes_max = 64 * 1024;
  options.connections_max = 256;
  auto server = net::HttpServer::listen(
      loop_, options,
      [this](const net::ServerRequest& request, const std::shared_ptr<net::Responder>& responder) {
        serve(request, responder);
      });
  if (!server) return fail(server.error().message);
  server_ = std::move(*server);
  return {};
}

Status Controller::listen_extenders() {
  const auto shared = scheduler_->shared();
  std::uint32_t profile = shared.first_guest_profile;
  for (const auto& options : options_.config.extenders) {
    if (options.mode == extender::Mode::single_node) shared.roster.heed_promises(profile);
    auto server = extender::Server::listen(
        options, {.shared = shared,
                  .first_profile = profile,
                  .not_ready = [this] { return ready() ? std::string() : trouble(); },
                  .log = log_});
    if (!server) return fail(fmt::format("extender {}: {}", options.name, server.error().message));
    extenders_.push_back(std::move(*server));
    profile += static_cast<std::uint32_t>(options.policies.size());
  }
  return {};
}

std::vector<std::pair<std::string, std::string>> Controller::extender_addresses() const {
  std::vector<std::pair<std::string, std::string>> addresses;
  for (const auto& server : extenders_) {
    const auto& options = server->extender().options();
    addresses.emplace_back(options.name,
                           (options.tls ? "https://" : "http://") + server->address());
  }
  return addresses;
}

std::string Controller::address() const {
  auto address = net::parse_listen(options_.config.listen);
  const std::string host = address ? address->host : "";
  const bool six = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", six ? "[" : "", host, six ? "]" : "", server_->port());
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
  scheduler_->start();
  summarise();
}

bool Controller::ready() const { return scheduler_->ready(); }
std::string Controller::trouble() const { return scheduler_->trouble(); }

// One line while things move, so that a log at its usual level shows that the controller works.
void Controller::summarise() {
  const auto picture = scheduler_->picture();
  const std::uint64_t bound = picture.binder.bound;
  const std::uint64_t refused = picture.outbox.refused;
  if (bound != summarised_bound_ || refused != summarised_refused_) {
    log_.info("progress", {{"bound", fmt::format("{}", bound - summarised_bound_)},
                           {"refused", fmt::format("{}", refused - summarised_refused_)},
                           {"waiting", fmt::format("{}", picture.engine.counters.waiting)},
                           {"nodes", fmt::format("{}", picture.roster.nodes)},
                           {"pods", fmt::format("{}", picture.roster.bound)}});
  }
  summarised_bound_ = bound;
  summarised_refused_ = refused;
  summary_timer_.start(kSummaryEvery, [this] { summarise(); });
}

void Controller::stop(std::function<void()> done) {
  summary_timer_.cancel();
  scheduler_->stop(kStopGrace, [this, done = std::move(done)] {
    const auto& binder = scheduler_->picture().binder;
    log_.info("stopped", {{"bound", fmt::format("{}", binder.bound)}});
    for (const auto& server : extenders_) server->shutdown(std::chrono::milliseconds{100}, [] {});
    server_->shutdown(std::chrono::milliseconds{100}, done);
  });
}

void Controller::serve(const net::ServerRequest& request,
                       const std::shared_ptr<net::Responder>& responder) {
  const auto target = net::parse_target(request.http.target);
  const std::string path = target ? target->path : "";
  const bool get = request.http.method == "GET" || request.http.method == "HEAD";
  if (path.starts_with("/debug/")) return serve_debug(request, path, responder);
  if (!get) return responder->send(plain(405, "only GET is possible here\n"));
  if (path == "/healthz" || path == "/livez") {
    const double silent = scheduler_->picture().engine_silent_seconds;
    if (silent < kEngineStuckSeconds) return responder->send(plain(200, "ok\n"));
    return responder->send(
        plain(500, fmt::format("the engine has not answered for {:.0f} seconds\n", silent)));
  }
  if (path == "/readyz") {
    if (ready()) return responder->send(plain(200, "ok\n"));
    return responder->send(plain(503, "not ready: " + trouble() + "\n"));
  }
  if (path == "/metrics") {
    std::vector<ExtenderPicture> extenders;
    for (const auto& server : extenders_) {
      extenders.push_back({server->extender().options().name, server->extender().counters()});
    }
    auto response = plain(200, render_metrics({.scheduler = scheduler_->picture(),
                                               .api = client_->counters(),
                                               .extenders = extenders,
                                               .ready = ready()}));
    response.headers = {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}};
    return responder->send(std::move(response));
  }
  if (path == "/version") return responder->send(plain(200, fmt::format("{}\n", base::kVersion)));
  responder->send(plain(404,
                        "not found; there are /healthz, /readyz, /metrics, /version, "
                        "/debug/state[?pod=namespace/name] and /debug/log-level\n"));
}

// What is under /debug tells and changes things that are nobody's business outside this machine.
void Controller::serve_debug(const net::ServerRequest& request, const std::string& path,
                             const std::shared_ptr<net::Responder>& responder) {
  if (!from_loopback(request.peer)) {
    return responder->send(plain(403, "only from this machine; use kubectl port-forward\n"));
  }
  const std::string& method = request.http.method;
  if (path == "/debug/state" && method == "GET") {
    const auto target = net::parse_target(request.http.target);
    const std::string pod(target->query_value("pod"));
    return scheduler_->record_decision(pod, [responder](Result<std::string> record) {
      if (record) return responder->send(plain(200, std::move(*record)));
      responder->send(plain(404, record.error().message + "\n"));
    });
  }
  if (path == "/debug/log-level" && method == "GET") {
    return responder->send(plain(200, fmt::format("{}\n", base::to_word(log_.level()))));
  }
  if (path == "/debug/log-level" && method == "PUT") {
    std::string word = request.http.body;
    while (!word.empty() && (word.back() == '\n' || word.back() == '\r')) word.pop_back();
    const auto level = base::parse_log_level(word);
    if (!level) return responder->send(plain(400, level.error().message + "\n"));
    log_.set_level(*level);
    log_.info("log level changed", {{"level", base::to_word(*level)}});
    return responder->send(plain(200, fmt::format("{}\n", base::to_word(*level))));
  }
  responder->send(plain(404,
                        "not found; GET /debug/state[?pod=namespace/name], "
                        "GET or PUT /debug/log-level\n"));
}

}  // namespace stowage::controller
