#include "controller/hub.h"

#include <algorithm>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "net/address.h"
#include "net/status_paths.h"
#include "net/tls.h"

namespace stowage::controller {
namespace {

constexpr std::chrono::seconds kSnapshotEvery{1};
// After a change of the leader the agents of a whole cluster may connect at once: only some tokens
// are reviewed at a time, and the other agents try again.
constexpr std::size_t kReviewsMax = 64;
constexpr std::size_t kTokensKept = 20'000;
// For clients of the metrics API: agents must not delay them.
constexpr std::size_t kApiReviewsMax = 32;
constexpr std::size_t kApiTokensKept = 2'000;
constexpr std::size_t kConnectionsMax = 20'000;

Result<std::shared_ptr<net::TlsContext>> tls_of(const Config::Agents& config) {
  STOWAGE_TRY(certificate, base::read_file(config.certificate_file));
  STOWAGE_TRY(key, base::read_file(config.key_file));
  return net::make_server_tls({.certificate_pem = certificate, .key_pem = key});
}

extender::Verb verb_of(metricsapi::ScheduleVerb verb) {
  switch (verb) {
    case metricsapi::ScheduleVerb::filter: return extender::Verb::filter;
    case metricsapi::ScheduleVerb::prioritize: return extender::Verb::prioritize;
    case metricsapi::ScheduleVerb::preempt: break;
  }
  return extender::Verb::preempt;
}

metricsapi::OtherNode other_node(const std::string& node, const std::vector<core::Card>& cards) {
  metricsapi::OtherNode other{.node = node, .cards = {}};
  for (const core::Card& card : cards) {
    other.cards.push_back({.id = card.id,
                           .index = card.index,
                           .model = card.model,
                           .memory_mib = card.memory_mib,
                           .healthy = card.healthy});
  }
  return other;
}

}  // namespace

// ---- construction

Result<std::unique_ptr<Hub>> Hub::create(const Options& options, Deps deps) {
  std::unique_ptr<Hub> hub(new Hub(std::move(deps)));
  STOWAGE_TRY_VOID(hub->open(options));
  return hub;
}

Status Hub::open(const Options& options) {
  auto made = kube::ApiClient::create(loop_, options.cluster,
                                      {.in_flight_max = kReviewsMax + kApiReviewsMax});
  if (!made) return fail(made.error().message);
  client_ = std::move(*made);
  agents_auth_ = std::make_unique<kube::DelegatedAuth>(
      *client_, kube::DelegatedAuthOptions{.kept_max = kTokensKept, .under_way_max = kReviewsMax});
  api_auth_ = std::make_unique<kube::DelegatedAuth>(
      *client_,
      kube::DelegatedAuthOptions{.kept_max = kApiTokensKept, .under_way_max = kApiReviewsMax});
  report_cache_ = std::make_unique<reports::ReportCache>(
      reports::ReportCacheOptions{.silence = options.agents.silent_after});
  batcher_ = std::make_unique<reports::ReportBatcher>(
      loop_, *report_cache_, reports::ReportBatcherOptions{},
      [this](std::vector<reports::NodeUpdate> batch) {
        deps_.loop.post([weak = std::weak_ptr<bool>(alive_), this, batch = std::move(batch)] {
          if (!weak.expired()) deps_.take(batch);
        });
      });
  agent_server_ = std::make_unique<reports::AgentServer>(
      reports::AgentServerOptions{.accounts = options.agents.accounts},
      reports::AgentServer::Deps{.auth = *agents_auth_,
                                 .report_cache = *report_cache_,
                                 .loop = loop_,
                                 .log = deps_.log,
                                 .place = [this] { return place_; }});
  return options.api.enabled ? serve_api(options) : listen_plainly(options.agents);
}

Status Hub::listen_plainly(const Config::Agents& config) {
  STOWAGE_TRY(address, net::parse_listen(config.listen));
  net::HttpServerOptions http;
  http.address = host_ = address.host;
  http.port = address.port;
  http.connections_max = kConnectionsMax;
  http.body_bytes_max = std::size_t{64} << 10U;
  http.accepts = false;
  if (!config.certificate_file.empty()) {
    STOWAGE_TRY_ASSIGN(http.tls, tls_of(config));
    tls_ = true;
  }
  STOWAGE_TRY(listening, net::HttpServer::listen(loop_, http,
                                                 [this](const net::ServerRequest& request,
                                                        std::shared_ptr<net::Responder> responder) {
                                                   serve(request, std::move(responder));
                                                 }));
  server_ = std::move(listening);
  return {};
}

Status Hub::serve_api(const Options& options) {
  const Config::Agents& agents = options.agents;
  metricsapi::ServerOptions with;
  with.listen = agents.listen;
  with.accepts = false;
  with.connections_max = kConnectionsMax;
  with.keeper.ns = options.ns;
  with.keeper.secret = options.api.secret;
  with.keeper.service = options.api.service;
  with.keeper.api_service = options.api.api_service;
  with.keeper.ca_map = options.api.ca_map;
  if (options.webhook.enabled) {
    with.keeper.webhooks = options.webhook.configuration;
    webhook_ = {.dialects = options.webhook_dialects,
                .void_unrequested = options.webhook.void_unrequested};
  }
  with.keeper.look = options.api.check_every;
  with.keeper.retry_min = std::min(with.keeper.retry_min, with.keeper.look);
  with.keeper.seed = std::random_device{}();
  if (!agents.certificate_file.empty()) {
    with.files = metricsapi::CertificatePaths{
        .certificate = agents.certificate_file, .key = agents.key_file, .ca = agents.ca_file};
  }
  metricsapi::Server::Deps to{
      .loop = loop_,
      .client = *client_,
      .auth = *api_auth_,
      .report_cache = *report_cache_,
      .log = deps_.log,
      .agents =
          [this](const net::ServerRequest& request, std::shared_ptr<net::Responder> responder) {
            serve(request, std::move(responder));
          },
      .other =
          [this](const net::ServerRequest& request,
                 const std::shared_ptr<net::Responder>& responder) {
            return webhook_ && serve_webhook(request, responder);
          },
      .schedule = {},
      .place = [this] { return place_; },
      .authorization = [this] { return client_->authorization(); },
      .not_ready = [this] { return api_->trouble(); }};
  to.schedule.ask = [this](metricsapi::ScheduleVerb verb, std::string question,
                           extender::Answer answer) {
    ask(verb, std::move(question), std::move(answer));
  };
  STOWAGE_TRY_ASSIGN(api_, metricsapi::Server::listen(std::move(with), std::move(to)));
  host_ = api_->host();
  tls_ = true;
  return {};
}

// ---- on its own thread

void Hub::serve(const net::ServerRequest& request, std::shared_ptr<net::Responder> responder) {
  const std::string path = request.http.target.substr(0, request.http.target.find('?'));
  if (path == codec::kReportsPath) return agent_server_->serve(request, std::move(responder));
  const bool health = path == net::kHealthzPath || path == net::kReadyzPath;
  responder->send({.status = health ? 200 : 404,
                   .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
                   .body = health ? "ok\n" : "not found; this listener is for agents\n"});
}

// Every replica answers: the answer depends on the pod alone.
bool Hub::serve_webhook(const net::ServerRequest& request,
                        const std::shared_ptr<net::Responder>& responder) {
  const net::HttpRequest& http = request.http;
  const std::string path = http.target.substr(0, http.target.find('?'));
  if (!webhook::is_webhook_path(path)) return false;
  const auto refuse = [&](int status, const std::string& why) {
    responder->send({.status = status,
                     .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
                     .body = why + '\n'});
    return true;
  };
  auto scheduler = webhook::scheduler_of(path);
  if (!scheduler) return refuse(404, scheduler.error().message);
  if (http.method != "POST") return refuse(405, "send an AdmissionReview by POST");
  webhook::Options options = *webhook_;
  options.default_scheduler = std::move(*scheduler);
  webhook::Answer answer = webhook::answer(review_reader_, options, http.body);
  ++reviews_[static_cast<std::size_t>(answer.verdict)];
  const bool json = answer.code == 200;
  responder->send(
      {.status = answer.code,
       .headers = {{"Content-Type", json ? "application/json" : "text/plain; charset=utf-8"}},
       .body = std::move(answer.body)});
  return true;
}

// The extender lives on the controller's loop. Its answer may arrive after the hub is destroyed.
void Hub::ask(metricsapi::ScheduleVerb verb, std::string question, extender::Answer answer) {
  const std::uint64_t number = ++questions_;
  asked_.emplace(number, std::move(answer));
  const auto back = [weak = std::weak_ptr<bool>(alive_), this, number](net::HttpResponse response) {
    if (weak.expired()) return;
    loop_.post([this, number, response = std::move(response)]() mutable {
      const auto waiting = asked_.extract(number);
      if (!waiting.empty()) waiting.mapped()(std::move(response));
    });
  };
  deps_.loop.post([weak = std::weak_ptr<bool>(alive_), to = deps_.ask, verb = verb_of(verb),
                   question = std::move(question), back]() mutable {
    if (!weak.expired()) to(verb, std::move(question), back);
  });
}

void Hub::drop(const std::string& node) {
  report_cache_->forget(node);
  agent_server_->send_away(node);
}

void Hub::publish() {
  if (api_ && std::exchange(nodes_changed_, false)) {
    std::vector<metricsapi::OtherNode> with_cards;
    for (const auto& [name, node] : nodes_) {
      if (!node.cards.empty()) with_cards.push_back(node);
    }
    api_->set_other_nodes(std::move(with_cards));
  }
  const std::scoped_lock lock(mutex_);
  snapshot_ = {.report_cache = report_cache_->counters(),
               .agent_server = agent_server_->counters(),
               .batcher_waiting = batcher_->waiting(),
               .api = api_ ? std::optional(api_->counters()) : std::nullopt,
               .reviews = reviews_,
               .trouble = api_ ? api_->trouble() : ""};
  snapshot_timer_.start(kSnapshotEvery, [this] { publish(); });
}

// ---- called from the controller's loop

Hub::~Hub() {
  loop_.stop();
  if (thread_.joinable()) thread_.join();
  alive_.reset();  // callbacks that its thread has posted have no effect
  asked_.clear();
  server_.reset();
  api_.reset();
  agent_server_.reset();
}

void Hub::start() {
  api_ ? api_->accept() : server_->accept();
  publish();
  thread_ = std::thread([this] { loop_.run(); });
}

void Hub::set_leader(reports::LeaderLocation place) {
  loop_.post([this, place = std::move(place)] {
    const bool was_here = place_.here;
    place_ = place;
    if (was_here && !place.here) agent_server_->send_away();
  });
}

void Hub::set_cards(const std::string& node, const Cards& cards) {
  loop_.post([this, seen = other_node(node, cards)] {
    if (nodes_.insert_or_assign(seen.node, seen).second) batcher_->resend(seen.node);
    nodes_changed_ = true;
  });
}

void Hub::forget(const std::string& node) {
  loop_.post([this, node] {
    drop(node);
    nodes_.erase(node);
    nodes_changed_ = true;
  });
}

void Hub::set_all_cards(const std::map<std::string, Cards>& nodes) {
  std::map<std::string, metricsapi::OtherNode> all;
  for (const auto& [name, cards] : nodes) all.emplace(name, other_node(name, cards));
  loop_.post([this, all = std::move(all)]() mutable {
    for (const reports::NodeReport* node_report : report_cache_->node_reports()) {
      if (!all.contains(node_report->node)) drop(std::string(node_report->node));
    }
    nodes_ = std::move(all);
    nodes_changed_ = true;
    batcher_->resend_all();
  });
}

std::uint16_t Hub::port() const { return api_ ? api_->port() : server_->port(); }

std::string Hub::url(const std::string& host) const {
  return fmt::format("{}://{}", tls_ ? "https" : "http", net::host_and_port(host, port()));
}

Hub::Snapshot Hub::snapshot() const {
  const std::scoped_lock lock(mutex_);
  return snapshot_;
}

}  // namespace stowage::controller
