#include "extender/forwarder.h"

#include <utility>

#include "kube/leader_proxy.h"

namespace stowage::extender {
namespace {

constexpr std::size_t kConnectionsMax = 32;
constexpr std::size_t kAnswerBytesMax = std::size_t{64} << 20U;

}  // namespace

Forwarder::Forwarder(net::EventLoop& loop, ForwarderOptions options)
    : loop_(loop),
      options_(options),
      leader_{.url = "", .why = "no leader is known yet"},
      alive_(std::make_shared<bool>(true)) {}

Forwarder::~Forwarder() { *alive_ = false; }

void Forwarder::set_leader(const Leader& leader) {
  const bool moved = leader.url != leader_.url;
  leader_ = leader;
  if (moved) connect();
}

void Forwarder::set_tls(std::shared_ptr<net::TlsContext> tls) {
  tls_ = std::move(tls);
  connect();
}

void Forwarder::connect() {
  client_.reset();  // calls under way keep it alive until they end
  if (leader_.url.empty()) return;
  auto url = kube::parse_leader_url(leader_.url);
  if (!url) {
    leader_.why = url.error().message;
    return;
  }
  if (url->tls && !tls_) {
    leader_.why = "the leader requires https, and this replica has no certificates for it";
    return;
  }
  client_ = kube::make_leader_client(loop_, std::move(*url), tls_,
                                     {.connections_max = kConnectionsMax,
                                      .waiting_max = options_.in_flight_max,
                                      .answer_bytes_max = kAnswerBytesMax});
}

void Forwarder::refuse(const std::shared_ptr<net::Responder>& responder, const std::string& why) {
  responder->send({.status = 503,
                   .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
                   .body = why + "\n"});
}

void Forwarder::answered(const std::shared_ptr<net::Responder>& responder,
                         net::HttpResponse reply) {
  ++counters_.forwarded;
  responder->send(kube::repeated(std::move(reply), {"Content-Type"}));
}

void Forwarder::forward(net::ServerRequest request, std::shared_ptr<net::Responder> responder,
                        NotAsked not_asked) {
  const bool passed_on = kube::was_forwarded(request.http);
  if (passed_on || !client_ || counters_.under_way >= options_.in_flight_max) {
    ++counters_.refused;
    return refuse(responder, passed_on  ? "this replica no longer leads; try again"
                             : !client_ ? "this replica does not lead, and " + leader_.why
                                        : "too many requests wait for the leader");
  }
  std::string body = not_asked ? request.http.body : std::move(request.http.body);
  net::HttpRequest onward = kube::forwarded(request.http, std::move(body), {"Content-Type"});
  ++counters_.under_way;
  std::shared_ptr<net::HttpClient> client = client_;
  client->send(std::move(onward), options_.deadline,
               [this, alive = alive_, request = std::move(request),
                responder = std::move(responder), not_asked = std::move(not_asked), held = client,
                &loop = loop_](tl::expected<net::HttpResponse, net::CallError> reply) mutable {
                 loop.post([kept = std::move(held)] {});  // it must not be destroyed inside its own
                                                          // call
                 if (!*alive) return;
                 --counters_.under_way;
                 const bool untouched = reply ? reply->status == 503 : !reply.error().sent;
                 if (reply && !untouched) return answered(responder, std::move(*reply));
                 ++counters_.failed;
                 if (untouched && not_asked)
                   return not_asked(std::move(request), std::move(responder));
                 refuse(responder,
                        kube::leader_unreachable(reply ? reply->body : reply.error().message));
               });
}

}  // namespace stowage::extender
