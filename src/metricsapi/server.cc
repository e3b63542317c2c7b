#include "metricsapi/server.h"

#include <utility>

#include "kube/clock.h"
#include "metricsapi/identity.h"
#include "metricsapi/render.h"
#include "net/address.h"

namespace stowage::metricsapi {
namespace {

using ResponderPtr = std::shared_ptr<net::Responder>;
using What = Ask::What;

constexpr std::size_t kBodyBytesMax = std::size_t{8} << 20U;  // limit before authentication
constexpr std::size_t kWholeMax = std::size_t{64} << 10U;     // longer answers are streamed

std::function<Now()> clock_of(net::EventLoop& loop, const kube::ApiClient& client) {
  return [&loop, &client] {
    return Now{.steady = loop.now(), .unix_nanos = kube::unix_nanos(client.wall_clock()())};
  };
}

codec::Access access_of(const Ask& ask) {
  codec::Access access{.group = std::string(kGroup), .version = std::string(kVersion)};
  if (ask.what == What::schedule) {
    access.verb = "create";
    access.resource = "schedule";
    access.name = word(ask.verb);
    return access;
  }
  access.verb = word(ask.what);
  access.resource = plural(ask.shape.resource);
  access.name = ask.what == What::get ? ask.name : ask.selector.only();
  return access;
}

}  // namespace

Server::Server(ServerOptions options, Deps deps)
    : options_(std::move(options)),
      deps_(std::move(deps)),
      watch_cache_(options_.watch_cache, deps_.report_cache, clock_of(deps_.loop, deps_.client)),
      watchers_(options_.watch, deps_.loop, watch_cache_),
      relay_(options_.relay, deps_.loop, deps_.log),
      schedule_(deps_.report_cache, deps_.schedule),
      trust_(options_.trust, {.client = deps_.client,
                              .log = deps_.log,
                              .changed = [this](const Trust&) { renew_tls(); }}),
      timer_(deps_.loop) {}

Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::listen(ServerOptions options, Deps deps) {
  std::unique_ptr<Server> made(new Server(std::move(options), std::move(deps)));
  STOWAGE_TRY_VOID(made->open());
  return made;
}

Status Server::open() {
  STOWAGE_TRY(address, net::parse_listen(options_.listen));
  STOWAGE_TRY(own,
              net::make_self_signed({.common_name = "stowage-not-ready", .hosts = {"localhost"}}));
  STOWAGE_TRY(
      tls, net::make_server_tls({.certificate_pem = own.certificate_pem, .key_pem = own.key_pem}));
  net::HttpServerOptions http;
  http.address = host_ = address.host;
  http.port = address.port;
  http.tls = std::move(tls);
  http.accepts = options_.accepts;
  http.connections_max = options_.connections_max;
  http.body_bytes_max = kBodyBytesMax;
  auto server = net::HttpServer::listen(deps_.loop, http,
                                        [this](net::ServerRequest request, ResponderPtr responder) {
                                          serve(std::move(request), std::move(responder));
                                        });
  if (!server) return fail(server.error().message);
  server_ = std::move(*server);
  const auto use = [this](const ServingCertificates& fresh) { use_certificates(fresh); };
  if (options_.files) {
    files_ = std::make_unique<CertificateFiles>(deps_.loop, *options_.files, deps_.log, use);
    STOWAGE_TRY_VOID(files_->start());
  } else {
    keeper_ = std::make_unique<CertificateManager>(
        options_.keeper,
        CertificateManager::Deps{.client = deps_.client, .log = deps_.log, .use = use});
    keeper_->start();
  }
  trust_.start();
  led_ = place().here;
  timer_.start(options_.look, [this] { look(); });
  return {};
}

void Server::accept() { server_->accept(); }

std::string Server::url(const std::string& host) const {
  return "https://" + net::host_and_port(host, server_->port());
}

std::string Server::address() const { return net::host_and_port(host_, server_->port()); }

void Server::shutdown(net::Duration grace, std::function<void()> done) {
  timer_.cancel();
  watchers_.send_away();
  relay_.send_away();
  server_->shutdown(grace, std::move(done));
}

// ---- certificates

void Server::use_certificates(const ServingCertificates& fresh) {
  certificates_ = fresh;
  const auto hosts = options_.keeper.rules.hosts.empty()
                         ? service_hosts(options_.keeper.service, options_.keeper.ns)
                         : options_.keeper.rules.hosts;
  // A replica without a token is authenticated by its certificate.
  const kube::ClientConfig& own = deps_.client.config();
  auto onward = net::make_client_tls({.ca_pem = fresh.trusted_pem,
                                      .certificate_pem = own.certificate_pem,
                                      .key_pem = own.key_pem,
                                      .server_name = hosts.front()});
  if (onward) {
    relay_.set_tls(std::move(*onward), !own.certificate_pem.empty());
  } else {
    deps_.log.warn("requests cannot be forwarded to the leader", {{"why", onward.error().message}});
  }
  renew_tls();
}

// Connections keep the certificates with which they were opened. A peer that was not asked for its
// certificate, or whose CA was unknown, would not present one again while its connection lasts.
void Server::renew_tls() {
  if (certificates_.pair.certificate_pem.empty()) return;
  net::ServerTls tls{.certificate_pem = certificates_.pair.certificate_pem,
                     .key_pem = certificates_.pair.key_pem,
                     .client_authorities = authorities(trust_.trust())};
  auto context = net::make_server_tls(tls);
  if (!context) {
    return deps_.log.warn("new certificates cannot be used, keeping the old ones",
                          {{"why", context.error().message}});
  }
  server_->set_tls(std::move(*context));
  if (std::exchange(asked_for_, trust_.trust()) != trust_.trust()) server_->retire();
}

std::string Server::trouble() const {
  if (keeper_ && !keeper_->trouble().empty()) return "certificates: " + keeper_->trouble();
  if (!trust_.trouble().empty()) return "client CAs of the API server: " + trust_.trouble();
  return {};
}

// ---- requests

void Server::refuse(const ResponderPtr& responder, const ApiError& error) {
  ++refused_[error.code];
  responder->send(refusal(error));
}

void Server::serve(net::ServerRequest request, ResponderPtr responder) {
  if (deps_.other && deps_.other(request, responder)) return;
  auto ask = read_ask(request.http);
  if (!ask) return refuse(responder, ask.error());
  ++requests_[std::string(word(ask->what))];
  if (answer_document(*ask, responder)) return;
  if (ask->what == What::agents) {
    if (deps_.agents) return deps_.agents(std::move(request), std::move(responder));
    return refuse(responder, no_such_path(request.http.target));
  }
  auto call = std::make_shared<Call>();
  call->ask = std::move(*ask);
  call->request = std::move(request);
  call->responder = std::move(responder);
  identify(call);
}

// Public documents. The API server requests them often, and must not wait.
bool Server::answer_document(const Ask& ask, const ResponderPtr& responder) {
  switch (ask.what) {
    case What::health: responder->send(text_answer(200, "ok")); return true;
    case What::ready: {
      const std::string why = deps_.not_ready ? deps_.not_ready() : "";
      responder->send(why.empty() ? text_answer(200, "ok")
                                  : text_answer(503, "not ready: " + why + "\n"));
      return true;
    }
    case What::groups: responder->send(json_answer(api_group_list())); return true;
    case What::group: responder->send(json_answer(api_group())); return true;
    case What::resources: responder->send(json_answer(api_resource_list())); return true;
    default: return false;
  }
}

void Server::identify(const CallPtr& call) {
  if (auto who = known_by_certificate(call->request, trust_.trust())) {
    call->who = std::move(*who);
    return authorise(call);
  }
  const std::string header(net::find_header(call->request.http.headers, "authorization"));
  if (header.empty()) {
    return refuse(call->responder, unauthorised("send a client certificate or a bearer token"));
  }
  deps_.auth.identify(header, {},
                      [this, alive = std::weak_ptr<bool>(alive_),
                       call](const kube::DelegatedAuth::Identity& identity) {
                        if (alive.expired()) return;
                        if (identity.status != 200) {
                          return refuse(call->responder, identity.status == 401
                                                             ? unauthorised(identity.why)
                                                             : later(identity.why));
                        }
                        call->who = identity.who;
                        authorise(call);
                      });
}

void Server::authorise(const CallPtr& call) {
  if (is_master(call->who)) return answer(call);
  deps_.auth.authorise(call->who, access_of(call->ask),
                       [this, alive = std::weak_ptr<bool>(alive_),
                        call](const kube::DelegatedAuth::Verdict& verdict) {
                         if (alive.expired()) return;
                         if (verdict.status == 200) return answer(call);
                         refuse(call->responder, verdict.status == 403 ? forbidden(verdict.why)
                                                                       : later(verdict.why));
                       });
}

void Server::answer(const CallPtr& call) {
  const reports::LeaderLocation where = place();
  if (where.here) return answer_here(call);
  relay_.pass_on({.ask = std::move(call->ask),
                  .request = std::move(call->request),
                  .responder = call->responder,
                  .user = call->who.user,
                  .authorization = deps_.authorization ? deps_.authorization() : ""},
                 where);
}

void Server::answer_here(const CallPtr& call) {
  const Ask& ask = call->ask;
  switch (ask.what) {
    case What::list: return send_list(call);
    case What::get: {
      const WatchCache::Entry* entry = watch_cache_.find(ask.shape.resource, ask.name);
      if (entry == nullptr) return refuse(call->responder, not_found(ask.shape.resource, ask.name));
      const Now now = watch_cache_.now();
      return call->responder->send(json_answer(
          render_one(watch_cache_.object(ask.shape.resource, *entry, now), ask.shape, now)));
    }
    case What::watch:
      if (watchers_.add(ask, call->responder)) return;
      return refuse(call->responder, too_many("too many watches are open"));
    case What::schedule:
      return schedule_.serve(ask.verb, std::move(call->request.http.body), call->responder);
    default: return refuse(call->responder, no_such_path(call->request.http.target));
  }
}

// A long list is kept once, until its client has read it; the total of unread lists is limited.
void Server::send_list(const CallPtr& call) {
  if (list_bytes() > options_.list_bytes_max) {
    return refuse(call->responder, too_many("too many lists are being sent to slow clients"));
  }
  std::string body = render_list(watch_cache_, call->ask.shape, call->ask.selector);
  if (body.size() <= kWholeMax) return call->responder->send(json_answer(std::move(body)));
  call->responder->begin(json_answer({}));
  call->responder->write(std::make_shared<const std::string>(std::move(body)));
  call->responder->end();
  lists_.push_back(call->responder);
}

std::size_t Server::list_bytes() {
  std::erase_if(lists_, [](const ResponderPtr& list) { return list->backlog() == 0; });
  std::size_t bytes = 0;
  for (const ResponderPtr& list : lists_) bytes += list->backlog();
  return bytes;
}

// A watch here would wait for ever while another replica leads, because agents report to that one.
void Server::look() {
  timer_.start(options_.look, [this] { look(); });
  const bool leads = place().here;
  if (std::exchange(led_, leads) != leads) {
    if (leads) watch_cache_.begin_term();
    watchers_.send_away();
    relay_.send_away();
  }
  static_cast<void>(list_bytes());  // removes completed ones
}

Server::Counters Server::counters() const {
  return {.requests = requests_,
          .refused = refused_,
          .watchers = watchers_.counters(),
          .relay = relay_.counters(),
          .connections = server_->connections()};
}

}  // namespace stowage::metricsapi
