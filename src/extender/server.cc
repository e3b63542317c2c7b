#include "extender/server.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/version.h"
#include "net/address.h"

namespace stowage::extender {
namespace {

constexpr std::chrono::seconds kLookAtCertificatesEvery{2};
constexpr std::size_t kBodyBytesMax = std::size_t{64} << 20U;
constexpr std::size_t kCertificateBytesMax = std::size_t{1} << 20U;

Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(fmt::format("cannot read {}", path));
  std::string text(kCertificateBytesMax + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kCertificateBytesMax) return fail(path + " is larger than 1 MiB");
  return text;
}

Result<net::ServerTls> read_certificates(const TlsFiles& files) {
  net::ServerTls tls{.client_required = files.client_required};
  STOWAGE_TRY(certificate, read_file(files.certificate));
  STOWAGE_TRY(key, read_file(files.key));
  tls.certificate_pem = std::move(certificate);
  tls.key_pem = std::move(key);
  if (files.client_ca.empty()) return tls;
  STOWAGE_TRY(ca, read_file(files.client_ca));
  tls.client_ca_pem = std::move(ca);
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

Server::Server(ExtenderOptions options, Extender::Ends ends)
    : ends_(ends), extender_(std::move(options), std::move(ends)), timer_(ends_.shared.loop) {}

Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::listen(ExtenderOptions options, Extender::Ends ends) {
  STOWAGE_TRY(address, net::parse_listen(options.listen));
  std::unique_ptr<Server> made(new Server(std::move(options), std::move(ends)));
  net::HttpServerOptions http;
  http.address = address.host;
  http.port = address.port;
  http.body_bytes_max = kBodyBytesMax;
  if (const auto& tls = made->extender_.options().tls) {
    STOWAGE_TRY(certificates, read_certificates(*tls));
    STOWAGE_TRY(context, net::make_server_tls(certificates));
    made->certificates_ = std::move(certificates);
    http.tls = std::move(context);
  }
  auto server = net::HttpServer::listen(
      made->ends_.shared.loop, http,
      [self = made.get()](net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
        self->serve(std::move(request), std::move(responder));
      });
  if (!server) return fail(server.error().message);
  made->server_ = std::move(*server);
  made->host_ = address.host;
  if (made->extender_.options().tls) made->watch_certificates();
  return made;
}

std::string Server::address() const {
  const bool six = host_.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", six ? "[" : "", host_, six ? "]" : "", server_->port());
}

void Server::shutdown(net::Duration grace, std::function<void()> done) {
  timer_.cancel();
  server_->shutdown(grace, std::move(done));
}

// A certificate that cannot be used does not replace one that can.
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
    return ends_.log.info("certificates reloaded", {{"extender", extender_.options().name}});
  }
  if (complaint_ == context.error().message) return;  // perhaps half written: looked at again
  complaint_ = context.error().message;
  ends_.log.warn("new certificates cannot be used, the old ones stay",
                 {{"extender", extender_.options().name}, {"why", complaint_}});
}

void Server::serve(net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
  const auto target = net::parse_target(request.http.target);
  const std::string path = target ? target->path : "";
  const Route* route = find(extender_.options().routes, path);
  if (route == nullptr) route = find(own_routes(), path);
  if (route != nullptr) {
    return extender_.handle(route->verb, std::move(request), std::move(responder));
  }
  const bool get = request.http.method == "GET" || request.http.method == "HEAD";
  if (get && path == "/version") {
    return responder->send(plain(200, std::string(base::kVersion) + "\n"));
  }
  if (get && (path == "/healthz" || path == "/livez")) return responder->send(plain(200, "ok\n"));
  if (get && path == "/readyz") {
    const std::string why = ends_.not_ready();
    return responder->send(why.empty() ? plain(200, "ok\n")
                                       : plain(503, "not ready: " + why + "\n"));
  }
  std::string known;
  for (const auto* routes : {&extender_.options().routes, &own_routes()}) {
    for (const auto& each : *routes) known += " " + each.path;
  }
  responder->send(plain(404, "not found; there are" + known + " /version /healthz /readyz\n"));
}

}  // namespace stowage::extender
