#include "kube/session.h"

#include <utility>

#include <fmt/format.h>

#include "base/file.h"
#include "base/version.h"

namespace stowage::kube {
namespace {

Result<std::shared_ptr<net::TlsContext>> make_tls(const ClientConfig& config,
                                                  const std::string& ca_pem,
                                                  const Credential* credential) {
  if (!config.server.tls) return std::shared_ptr<net::TlsContext>();
  const bool plugin = credential != nullptr && !credential->certificate_pem.empty();
  return net::make_client_tls(
      {.ca_pem = ca_pem,
       .certificate_pem = plugin ? credential->certificate_pem : config.certificate_pem,
       .key_pem = plugin ? credential->key_pem : config.key_pem,
       .server_name = config.tls_server_name,
       .insecure = config.insecure});
}

net::HttpClientOptions http_options(const ClientConfig& config, const ApiClientOptions& options,
                                    std::shared_ptr<net::TlsContext> tls) {
  net::HttpClientOptions http;
  http.server = config.server;
  http.tls = std::move(tls);
  http.connections_max = options.in_flight_max;
  http.connect_timeout = options.connect_timeout;
  return http;
}

net::Headers common_headers(const ClientConfig& config, const ApiClientOptions& options) {
  net::Headers headers;
  headers.emplace_back("User-Agent", options.user_agent.empty()
                                         ? fmt::format("stowage/{}", base::kVersion)
                                         : options.user_agent);
  if (config.impersonate) {
    headers.emplace_back("Impersonate-User", config.impersonate->user);
    if (!config.impersonate->uid.empty()) {
      headers.emplace_back("Impersonate-Uid", config.impersonate->uid);
    }
    for (const std::string& group : config.impersonate->groups) {
      headers.emplace_back("Impersonate-Group", group);
    }
  }
  return headers;
}

}  // namespace

Result<std::unique_ptr<Session>> Session::create(net::EventLoop& loop, ClientConfig config,
                                                 const ApiClientOptions& options) {
  auto tls = make_tls(config, config.ca_pem, nullptr);
  if (!tls) return fail(fmt::format("{}: {}", config.origin, tls.error().message));
  return std::unique_ptr<Session>(new Session(loop, std::move(config), options,
                                              std::move(*tls)));  // the constructor is private
}

Session::Session(net::EventLoop& loop, ClientConfig config, const ApiClientOptions& options,
                 std::shared_ptr<net::TlsContext> tls)
    : config_(std::move(config)),
      headers_(common_headers(config_, options)),
      http_(options.caller ? options.caller()
                           : std::make_unique<net::HttpClient>(
                                 loop, http_options(config_, options, std::move(tls)))),
      credentials_(loop, config_,
                   {.reread_every = options.reread_every,
                    .exec_time_limit = options.exec_time_limit,
                    .wall_clock = options.wall_clock}),
      ca_timer_(loop),
      reread_every_(options.reread_every),
      ca_pem_(config_.ca_pem) {
  watch_ca_file();
}

void Session::watch_ca_file() {
  if (!config_.server.tls || config_.ca_file.empty()) return;
  ca_timer_.start(reread_every_, [this] {
    reread_ca();
    watch_ca_file();
  });
}

void Session::reread_ca() {
  auto pem = base::read_file(config_.ca_file);
  if (pem && *pem == ca_pem_) return;
  if (pem) {
    std::swap(ca_pem_, *pem);
    if (renew_tls(credentials_.current())) return;
    std::swap(ca_pem_, *pem);  // perhaps half written: the old one stays in use
  }
  ++failures_;
}

Status Session::renew_tls(const Credential* credential) {
  STOWAGE_TRY(tls, make_tls(config_, ca_pem_, credential));
  if (tls) http_->set_tls(std::move(tls));
  certificate_pem_ = credential == nullptr ? std::string() : credential->certificate_pem;
  return {};
}

void Session::fetch(CredentialSource::Ready ready) {
  credentials_.fetch([this, ready = std::move(ready)](Status status) {
    const Credential* credential = status ? credentials_.current() : nullptr;
    if (credential != nullptr && credential->certificate_pem != certificate_pem_) {
      status = renew_tls(credential);
      if (!status) ++failures_;
    }
    ready(std::move(status));
  });
}

net::HttpRequest Session::request_for(const ApiCall& call, const Credential& credential) const {
  net::HttpRequest request;
  request.method = call.method;
  request.target = call.target;
  request.headers.reserve(headers_.size() + 3);
  request.headers.emplace_back("Accept", call.accept);
  request.headers.insert(request.headers.end(), headers_.begin(), headers_.end());
  if (!credential.authorization.empty()) {
    request.headers.emplace_back("Authorization", credential.authorization);
  }
  if (!call.body.empty()) {
    request.headers.emplace_back("Content-Type", call.content_type);
    request.body = call.body;
  }
  return request;
}

}  // namespace stowage::kube
