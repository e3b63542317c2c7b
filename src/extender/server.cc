#include "extender/server.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "base/version.h"
#include "kube/leader_proxy.h"
#include "net/address.h"

namespace stowage::extender {
namespace {

constexpr std::chrono::seconds kLookAtCertificatesEvery{2};
constexpr std::size_t kBodyBytesMax = std::size_t{64} << 20U;
constexpr std::size_t kCertificateBytesMax = std::size_t{1} << 20U;

Result<std::string> read_pem(const std::string& path) {
  auto text = base::try_read_file(path, kCertificateBytesMax);
  if (text) return std::move(*text);
  if (text.error().kind == base::FileError::Kind::too_large) {
    return fail(path + " is larger than 1 MiB");
  }
  return fail(fmt::format("cannot read {}", path));
}

Result<net::ServerTls> read_certificates(const TlsFiles& files) {
  net::ServerTls tls{.client_required = files.client_required};
  STOWAGE_TRY(certificate, read_pem(files.certificate));
  STOWAGE_TRY(key, read_pem(files.key));
  tls.certificate_pem = std::move(certificate);
  tls.key_pem = std::move(key);
  if (files.client_ca.empty()) return tls;
  STOWAGE_TRY_ASSIGN(tls.client_ca_pem, read_pem(files.client_ca));
  return tls;
}

bool same(const net::ServerTls& a, const net::ServerTls& b) {
  return a.certificate_pem == b.certificate_pem && a.key_pem == b.key_pem &&
         a.client_ca_pem == b.client_ca_pem;
}

net::HttpResponse plain(int status, std::string text) {
  return {.status = status,
          .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
          .body = std::move(text)};
}

const Route* find(const std::vector<Route>& routes, std::string_view path) {
  const auto found = std::find_if(routes.begin(), routes.end(),
                                  [&](const Route& route) { return route.path == path; });
  return found == routes.end() ? nullptr : &*found;
}

}  // namespace

Server::Server(ExtenderOptions options, Extender::Deps deps)
    : deps_(deps),
      extender_(std::move(options), std::move(deps)),
      forwarder_(deps_.shared.loop, {}),
      pending_requests_(
          deps_.shared.loop, {},
          {.open =
               [this] {
                 if (!leads()) return forwarder_.has_way();
                 return !paused_ && deps_.not_ready().empty();
               },
           .answer = [this](PendingRequest question) { answer(std::move(question)); }}),
      timer_(deps_.shared.loop) {}

Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::listen(ExtenderOptions options, Extender::Deps deps,
                                               Start start) {
  STOWAGE_TRY(address, net::parse_listen(options.listen));
  std::unique_ptr<Server> made(new Server(std::move(options), std::move(deps)));
  net::HttpServerOptions http;
  http.address = address.host;
  http.port = address.port;
  http.body_bytes_max = kBodyBytesMax;
  http.beside = start.beside == nullptr ? nullptr : start.beside->server_.get();
  http.accepts = made->accepts_ = start.accepts;
  if (const auto& tls = made->extender_.options().tls) {
    STOWAGE_TRY(certificates, read_certificates(*tls));
    STOWAGE_TRY(context, net::make_server_tls(certificates));
    STOWAGE_TRY_VOID(made->forward_with(certificates));
    made->certificates_ = std::move(certificates);
    http.tls = std::move(context);
  }
  auto server = net::HttpServer::listen(
      made->deps_.shared.loop, http,
      [self = made.get()](net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
        self->serve(std::move(request), std::move(responder));
      });
  if (!server) return fail(server.error().message);
  made->server_ = std::move(*server);
  made->host_ = address.host;
  if (made->extender_.options().tls) made->watch_certificates();
  return made;
}

std::string Server::address() const { return net::host_and_port(host_, server_->port()); }

std::string Server::url(const std::string& host) const {
  return (extender_.options().tls ? "https://" : "http://") +
         net::host_and_port(host, server_->port());
}

// The replicas share one certificate, so a server that presents it is a replica. The CA of client
// certificates may also have signed it.
Status Server::forward_with(const net::ServerTls& own) {
  const ForwardTls& given = extender_.options().forward;
  net::ClientTls tls{.ca_pem = own.certificate_pem + "\n" + own.client_ca_pem,
                     .certificate_pem = own.client_ca_pem.empty() ? "" : own.certificate_pem,
                     .key_pem = own.client_ca_pem.empty() ? "" : own.key_pem,
                     .server_name = given.server_name};
  if (!given.ca.empty()) {
    STOWAGE_TRY_ASSIGN(tls.ca_pem, read_pem(given.ca));
  }
  if (!given.certificate.empty()) {
    STOWAGE_TRY(certificate, read_pem(given.certificate));
    STOWAGE_TRY(key, read_pem(given.key));
    tls.certificate_pem = std::move(certificate);
    tls.key_pem = std::move(key);
  }
  if (tls.server_name.empty()) tls.server_name = net::first_host(own.certificate_pem).value_or("");
  STOWAGE_TRY(context, net::make_client_tls(tls));
  forwarder_.set_tls(std::move(context));
  return {};
}

std::vector<scheduler::QueueFill> Server::queues() const {
  using scheduler::QueueName;
  return {{.queue = QueueName::external_pods,
           .size = extender_.counters().external_pods,
           .limit = Extender::kExternalPodsMax},
          {.queue = QueueName::pending_requests,
           .size = pending_requests_.waiting(),
           .limit = pending_requests_.options().waiting_max},
          {.queue = QueueName::forwarded,
           .size = forwarder_.counters().under_way,
           .limit = forwarder_.options().in_flight_max},
          {.queue = QueueName::connections,
           .size = server_->connections(),
           .limit = server_->options().connections_max},
          {.queue = QueueName::body_bytes,
           .size = server_->buffered_bytes(),
           .limit = server_->options().buffered_bytes_max}};
}

void Server::accept() {
  if (!std::exchange(accepts_, true)) server_->accept();
}

void Server::shutdown(net::Duration grace, std::function<void()> done) {
  timer_.cancel();
  server_->shutdown(grace, std::move(done));
}

// A certificate that cannot be used does not replace a usable one.
void Server::watch_certificates() {
  timer_.start(kLookAtCertificatesEvery, [this] { watch_certificates(); });
  auto fresh = read_certificates(*extender_.options().tls);
  if (fresh && same(*fresh, certificates_)) {
    complaint_.clear();
    return;
  }
  auto context = fresh ? net::make_server_tls(*fresh)
                       : Result<std::shared_ptr<net::TlsContext>>(fail(fresh.error().message));
  if (context) {
    certificates_ = std::move(*fresh);
    complaint_.clear();
    server_->set_tls(std::move(*context));
    if (auto onward = forward_with(certificates_); !onward) {
      deps_.log.warn("cannot forward requests with the new certificates",
                     {{"extender", extender_.options().name}, {"why", onward.error().message}});
    }
    return deps_.log.info("certificates reloaded", {{"extender", extender_.options().name}});
  }
  if (complaint_ == context.error().message) return;  // perhaps half written: checked again
  complaint_ = context.error().message;
  deps_.log.warn("new certificates cannot be used, keeping the old ones",
                 {{"extender", extender_.options().name}, {"why", complaint_}});
}

void Server::succeed(Server* next) {
  successor_ = next;
  succeeded_ = true;
  for (PendingRequest& question : pending_requests_.take()) take(std::move(question));
}

void Server::take(PendingRequest question) {
  if (succeeded_) {
    if (successor_ != nullptr) return successor_->take(std::move(question));
    return question.responder->send(plain(503, "this extender is no longer configured\n"));
  }
  // Status requests are answered at once, and so are requests that follow a filter: its
  // pre-allocation exists already. A replica that forwards a request to one that does not lead has
  // its own queue of pending requests.
  const bool passed_on = kube::was_forwarded(question.request.http);
  const bool answered_here = question.verb == Verb::status ||
                             (leads() ? paused_ && question.verb != Verb::filter : passed_on);
  if (answered_here) return answer(std::move(question));
  pending_requests_.enter(std::move(question));
}

void Server::ask(Verb verb, std::string body, Answer answer) {
  const Route* route = nullptr;
  for (const auto* routes : {&extender_.options().routes, &own_routes()}) {
    for (const Route& each : *routes) {
      if (route == nullptr && each.verb == verb) route = &each;
    }
  }
  auto responder = std::make_shared<CallbackResponder>(std::move(answer));
  if (route == nullptr) {
    return responder->send(plain(404, fmt::format("the extender {} has no route for {}\n",
                                                  extender_.options().name, to_string(verb))));
  }
  net::ServerRequest request;
  request.http.method = "POST";
  request.http.target = route->path;  // another replica may handle it
  request.http.headers = {{"Content-Type", "application/json"}};
  request.http.body = std::move(body);
  take({.verb = verb, .request = std::move(request), .responder = std::move(responder)});
}

void Server::answer(PendingRequest question) {
  if (leads()) {
    return extender_.handle(question.verb, std::move(question.request),
                            std::move(question.responder));
  }
  Forwarder::NotAsked not_asked;
  if (pending_requests_.patient(question)) {
    not_asked = [this, verb = question.verb, until = question.until](
                    net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
      pending_requests_.wait({.verb = verb,
                              .request = std::move(request),
                              .responder = std::move(responder),
                              .until = until});
    };
  }
  forwarder_.forward(std::move(question.request), std::move(question.responder),
                     std::move(not_asked));
}

void Server::serve(net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
  const auto target = net::parse_target(request.http.target);
  const std::string path = target ? target->path : "";
  const Route* route = find(extender_.options().routes, path);
  if (route == nullptr) route = find(own_routes(), path);
  if (route != nullptr) {
    return take(
        {.verb = route->verb, .request = std::move(request), .responder = std::move(responder)});
  }
  const bool get = request.http.method == "GET" || request.http.method == "HEAD";
  if (get && path == net::kVersionPath) {
    return responder->send(plain(200, std::string(base::kVersion) + "\n"));
  }
  if (get && (path == net::kHealthzPath || path == net::kLivezPath))
    return responder->send(plain(200, "ok\n"));
  if (get && path == net::kReadyzPath) {
    const std::string why = deps_.not_ready();
    return responder->send(why.empty() ? plain(200, "ok\n")
                                       : plain(503, "not ready: " + why + "\n"));
  }
  std::string known;
  for (const auto* routes : {&extender_.options().routes, &own_routes()}) {
    for (const auto& each : *routes) known += " " + each.path;
  }
  for (const std::string_view each : kStatusPaths) known += fmt::format(" {}", each);
  responder->send(plain(404, "not found; there are" + known + "\n"));
}

}  // namespace stowage::extender
