#include "controller/hub.h"

#include <mutex>
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

Result<std::shared_ptr<net::TlsContext>> tls_of(const Config::Agents& config) {
  STOWAGE_TRY(certificate, kube::read_small_file(config.certificate_file));
  STOWAGE_TRY(key, kube::read_small_file(config.key_file));
  return net::make_server_tls({.certificate_pem = certificate, .key_pem = key});
}

}  // namespace

struct Hub::Body {
  explicit Body(Ends given) : ends(std::move(given)), picture_timer(loop) {}

  void serve(const net::ServerRequest& request, std::shared_ptr<net::Responder> responder) {
    const std::string path = request.http.target.substr(0, request.http.target.find('?'));
    if (path == reports::kReportsPath) return door->serve(request, std::move(responder));
    const bool health = path == "/healthz" || path == "/readyz";
    responder->send({.status = health ? 200 : 404,
                     .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
                     .body = health ? "ok\n" : "not found; agents report here\n"});
  }

  void send(std::vector<reports::NodeNews> parcel) {
    ends.loop.post(
        [weak = std::weak_ptr<bool>(alive), take = ends.take, parcel = std::move(parcel)] {
          if (!weak.expired()) take(parcel);
        });
  }

  void publish() {
    const std::scoped_lock lock(mutex);
    picture = {
        .book = book->counters(), .door = door->counters(), .digest_waiting = digest->waiting()};
    picture_timer.start(kPictureEvery, [this] { publish(); });
  }

  Ends ends;
  net::EventLoop loop;  // what follows lives on it
  std::unique_ptr<kube::ApiClient> client;
  std::unique_ptr<kube::Gatekeeper> gate;
  std::unique_ptr<reports::Book> book;
  std::unique_ptr<reports::Digest> digest;
  std::unique_ptr<reports::Door> door;
  std::unique_ptr<net::HttpServer> server;
  reports::Place place{.here = false};
  net::Timer picture_timer;

  std::string host;
  bool tls = false;
  std::thread thread;
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);  // on the controller's loop
  mutable std::mutex mutex;
  Picture picture;
};

Hub::Hub(std::shared_ptr<Body> body) : body_(std::move(body)) {}

Result<std::unique_ptr<Hub>> Hub::create(const Config::Agents& config,
                                         const kube::ClientConfig& cluster, Ends ends) {
  auto body = std::make_shared<Body>(std::move(ends));
  Body* const self = body.get();
  auto client = kube::ApiClient::create(body->loop, cluster, {.in_flight_max = kReviewsMax});
  if (!client) return fail(client.error().message);
  body->client = std::move(*client);
  body->gate = std::make_unique<kube::Gatekeeper>(
      *body->client,
      kube::GatekeeperOptions{.kept_max = kTokensKept, .under_way_max = kReviewsMax});
  body->book =
      std::make_unique<reports::Book>(reports::BookOptions{.silence = config.silent_after});
  body->digest = std::make_unique<reports::Digest>(
      body->loop, *body->book, reports::DigestOptions{},
      [self](std::vector<reports::NodeNews> parcel) { self->send(std::move(parcel)); });
  body->door =
      std::make_unique<reports::Door>(reports::DoorOptions{.accounts = config.accounts},
                                      reports::Door::Ends{.gate = *body->gate,
                                                          .book = *body->book,
                                                          .loop = body->loop,
                                                          .log = body->ends.log,
                                                          .place = [self] { return self->place; }});
  STOWAGE_TRY(address, net::parse_listen(config.listen));
  net::HttpServerOptions http;
  http.address = body->host = address.host;
  http.port = address.port;
  http.connections_max = 20'000;
  http.body_bytes_max = std::size_t{64} << 10U;
  http.accepts = false;
  if (!config.certificate_file.empty()) {
    STOWAGE_TRY(tls, tls_of(config));
    http.tls = std::move(tls);
    body->tls = true;
  }
  STOWAGE_TRY(server, net::HttpServer::listen(body->loop, http,
                                              [self](const net::ServerRequest& request,
                                                     std::shared_ptr<net::Responder> responder) {
                                                self->serve(request, std::move(responder));
                                              }));
  body->server = std::move(server);
  return std::unique_ptr<Hub>(new Hub(std::move(body)));
}

Hub::~Hub() {
  body_->alive.reset();
  body_->loop.stop();
  if (body_->thread.joinable()) body_->thread.join();
  body_->server.reset();
  body_->door.reset();
}

void Hub::start() {
  body_->server->accept();
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

void Hub::forget(const std::string& node) {
  body_->loop.post([body = body_.get(), node] { body->book->forget(node); });
}

std::string Hub::host() const { return body_->host; }
std::uint16_t Hub::port() const { return body_->server->port(); }

std::string Hub::url(const std::string& host) const {
  return fmt::format("{}://{}", body_->tls ? "https" : "http", net::host_and_port(host, port()));
}

Hub::Picture Hub::picture() const {
  const std::scoped_lock lock(body_->mutex);
  return body_->picture;
}

}  // namespace stowage::controller
