#include "controller/hub.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "kube/api_client.h"
#include "kube/gatekeeper.h"
#include "kube/small_file.h"
#include "net/address.h"
#include "net/http_server.h"
#include "net/tls.h"

namespace stowage::controller {
namespace {

constexpr std::chrono::seconds kPictureEvery{1};
// Agents of a whole cluster may come at once, after a change of the leader: their tokens are
// reviewed some at a time, and they come again if they have to.
constexpr std::size_t kReviewsMax = 64;
constexpr std::size_t kTokensKept = 20'000;
// Of those who ask the metrics API: agents are not to be in their way.
constexpr std::size_t kApiReviewsMax = 32;
constexpr std::size_t kApiTokensKept = 2'000;
constexpr std::size_t kConnectionsMax = 20'000;

Result<std::shared_ptr<net::TlsContext>> tls_of(const Config::Agents& config) {
  STOWAGE_TRY(certificate, kube::read_small_file(config.certificate_file));
  STOWAGE_TRY(key, kube::read_small_file(config.key_file));
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

struct Hub::Body {
  explicit Body(Ends given) : ends(std::move(given)), picture_timer(loop) {}

  Status open(const Options& options);
  Status listen_plainly(const Config::Agents& config);
  Status serve_api(const Options& options);
  void serve(const net::ServerRequest& request, std::shared_ptr<net::Responder> responder);
  void send(std::vector<reports::NodeNews> parcel);
  void ask(metricsapi::ScheduleVerb verb, std::string question, extender::Answer answer);
  void publish();
  // Its agent tells everything anew, should the node come back.
  void forget(const std::string& node) {
    book->forget(node);
    door->send_away(node);
  }

  Ends ends;
  net::EventLoop loop;  // what follows lives on it
  std::unique_ptr<kube::ApiClient> client;
  std::unique_ptr<kube::Gatekeeper> agents_gate;
  std::unique_ptr<kube::Gatekeeper> api_gate;
  std::unique_ptr<reports::Book> book;
  std::unique_ptr<reports::Digest> digest;
  std::unique_ptr<reports::Door> door;
  std::unique_ptr<net::HttpServer> server;  // one of these two
  std::unique_ptr<metricsapi::Server> api;
  reports::Place place{.here = false};
  std::map<std::string, metricsapi::OtherNode> others;  // by name
  bool others_changed = false;
  // Questions on their way to the extender: what waits for an answer stays on this thread.
  std::map<std::uint64_t, extender::Answer> asked;
  std::uint64_t questions = 0;
  net::Timer picture_timer;

  std::string host;
  bool tls = false;
  std::weak_ptr<Body> self;
  std::thread thread;
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);  // on the controller's loop
  mutable std::mutex mutex;
  Picture picture;
};

// ---- construction

Hub::Hub(std::shared_ptr<Body> body) : body_(std::move(body)) {}

Result<std::unique_ptr<Hub>> Hub::create(const Options& options, Ends ends) {
  auto body = std::make_shared<Body>(std::move(ends));
  body->self = body;
  STOWAGE_TRY_VOID(body->open(options));
  return std::unique_ptr<Hub>(new Hub(std::move(body)));
}

Status Hub::Body::open(const Options& options) {
  auto made = kube::ApiClient::create(loop, options.cluster,
                                      {.in_flight_max = kReviewsMax + kApiReviewsMax});
  if (!made) return fail(made.error().message);
  client = std::move(*made);
  agents_gate = std::make_unique<kube::Gatekeeper>(
      *client, kube::GatekeeperOptions{.kept_max = kTokensKept, .under_way_max = kReviewsMax});
  api_gate = std::make_unique<kube::Gatekeeper>(
      *client,
      kube::GatekeeperOptions{.kept_max = kApiTokensKept, .under_way_max = kApiReviewsMax});
  book =
      std::make_unique<reports::Book>(reports::BookOptions{.silence = options.agents.silent_after});
  digest = std::make_unique<reports::Digest>(
      loop, *book, reports::DigestOptions{},
      [this](std::vector<reports::NodeNews> parcel) { send(std::move(parcel)); });
  door = std::make_unique<reports::Door>(
      reports::DoorOptions{.accounts = options.agents.accounts},
      reports::Door::Ends{
          .gate = *agents_gate, .book = *book, .loop = loop, .log = ends.log, .place = [this] {
            return place;
          }});
  return options.api.enabled ? serve_api(options) : listen_plainly(options.agents);
}

Status Hub::Body::listen_plainly(const Config::Agents& config) {
  STOWAGE_TRY(address, net::parse_listen(config.listen));
  net::HttpServerOptions http;
  http.address = host = address.host;
  http.port = address.port;
  http.connections_max = kConnectionsMax;
  http.body_bytes_max = std::size_t{64} << 10U;
  http.accepts = false;
  if (!config.certificate_file.empty()) {
    STOWAGE_TRY(context, tls_of(config));
    http.tls = std::move(context);
    tls = true;
  }
  STOWAGE_TRY(listening, net::HttpServer::listen(loop, http,
                                                 [this](const net::ServerRequest& request,
                                                        std::shared_ptr<net::Responder> responder) {
                                                   serve(request, std::move(responder));
                                                 }));
  server = std::move(listening);
  return {};
}

Status Hub::Body::serve_api(const Options& options) {
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
  with.keeper.look = options.api.check_every;
  with.keeper.retry_min = std::min(with.keeper.retry_min, with.keeper.look);
  with.keeper.seed = std::random_device{}();
  if (!agents.certificate_file.empty()) {
    with.files = metricsapi::CertificatePaths{
        .certificate = agents.certificate_file, .key = agents.key_file, .ca = agents.ca_file};
  }
  metricsapi::Server::Ends to{
      .loop = loop,
      .client = *client,
      .gate = *api_gate,
      .book = *book,
      .log = ends.log,
      .agents =
          [this](const net::ServerRequest& request, std::shared_ptr<net::Responder> responder) {
            serve(request, std::move(responder));
          },
      .schedule = {},
      .place = [this] { return place; },
      .authorization = [this] { return client->authorization(); },
      .not_ready = [this] { return api->trouble(); }};
  to.schedule.ask = [this](metricsapi::ScheduleVerb verb, std::string question,
                           extender::Answer answer) {
    ask(verb, std::move(question), std::move(answer));
  };
  STOWAGE_TRY(made, metricsapi::Server::listen(std::move(with), std::move(to)));
  api = std::move(made);
  host = api->host();
  tls = true;
  return {};
}

// ---- on its own thread

void Hub::Body::serve(const net::ServerRequest& request,
                      std::shared_ptr<net::Responder> responder) {
  const std::string path = request.http.target.substr(0, request.http.target.find('?'));
  if (path == codec::kReportsPath) return door->serve(request, std::move(responder));
  const bool health = path == "/healthz" || path == "/readyz";
  responder->send({.status = health ? 200 : 404,
                   .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
                   .body = health ? "ok\n" : "not found; agents report here\n"});
}

void Hub::Body::send(std::vector<reports::NodeNews> parcel) {
  ends.loop.post([weak = std::weak_ptr<bool>(alive), take = ends.take, parcel = std::move(parcel)] {
    if (!weak.expired()) take(parcel);
  });
}

// The extender lives on the controller's loop. What comes back may come when the hub has gone.
void Hub::Body::ask(metricsapi::ScheduleVerb verb, std::string question, extender::Answer answer) {
  const std::uint64_t number = ++questions;
  asked.emplace(number, std::move(answer));
  const auto back = [weak = self, number](net::HttpResponse response) {
    const std::shared_ptr<Body> body = weak.lock();
    if (!body) return;
    body->loop.post([at = body.get(), number, response = std::move(response)]() mutable {
      const auto waiting = at->asked.extract(number);
      if (!waiting.empty()) waiting.mapped()(std::move(response));
    });
  };
  ends.loop.post([weak = std::weak_ptr<bool>(alive), to = ends.ask, verb = verb_of(verb),
                  question = std::move(question), back]() mutable {
    if (!weak.expired()) to(verb, std::move(question), back);
  });
}

void Hub::Body::publish() {
  if (api && std::exchange(others_changed, false)) {
    std::vector<metricsapi::OtherNode> nodes;
    for (const auto& [name, node] : others) nodes.push_back(node);
    api->set_other_nodes(std::move(nodes));
  }
  const std::scoped_lock lock(mutex);
  picture = {.book = book->counters(),
             .door = door->counters(),
             .digest_waiting = digest->waiting(),
             .api = api ? std::optional(api->counters()) : std::nullopt,
             .trouble = api ? api->trouble() : ""};
  picture_timer.start(kPictureEvery, [this] { publish(); });
}

// ---- from outside

Hub::~Hub() {
  body_->loop.stop();
  if (body_->thread.joinable()) body_->thread.join();
  body_->alive.reset();  // what its thread has posted finds nobody
  body_->asked.clear();
  body_->server.reset();
  body_->api.reset();
  body_->door.reset();
}

void Hub::start() {
  body_->api ? body_->api->accept() : body_->server->accept();
  body_->publish();
  body_->thread = std::thread([body = body_.get()] { body->loop.run(); });
}

void Hub::set_place(reports::Place place) {
  body_->loop.post([body = body_.get(), place = std::move(place)] {
    const bool was_here = body->place.here;
    body->place = place;
    if (was_here && !place.here) body->door->send_away();
  });
}

void Hub::tell_all() {
  body_->loop.post([body = body_.get()] { body->digest->tell_all(); });
}

void Hub::see_cards(const std::string& node, const std::vector<core::Card>* cards) {
  body_->loop.post([body = body_.get(), gone = cards == nullptr,
                    other = other_node(node, cards == nullptr ? Cards{} : *cards)] {
    if (gone) body->forget(other.node);
    body->others_changed = true;
    if (other.cards.empty()) {
      body->others.erase(other.node);
    } else {
      body->others.insert_or_assign(other.node, other);
    }
  });
}

void Hub::see_all(const std::map<std::string, Cards>& nodes) {
  std::map<std::string, metricsapi::OtherNode> others;
  for (const auto& [name, cards] : nodes) others.emplace(name, other_node(name, cards));
  body_->loop.post([body = body_.get(), others = std::move(others)]() mutable {
    for (const reports::NodePage* page : body->book->pages()) {
      if (others.count(page->node) == 0) body->forget(std::string(page->node));
    }
    std::erase_if(others, [](const auto& each) { return each.second.cards.empty(); });
    body->others = std::move(others);
    body->others_changed = true;
  });
}

std::string Hub::host() const { return body_->host; }
std::uint16_t Hub::port() const { return body_->api ? body_->api->port() : body_->server->port(); }

std::string Hub::url(const std::string& host) const {
  return fmt::format("{}://{}", body_->tls ? "https" : "http", net::host_and_port(host, port()));
}

Hub::Picture Hub::picture() const {
  const std::scoped_lock lock(body_->mutex);
  return body_->picture;
}

}  // namespace stowage::controller
