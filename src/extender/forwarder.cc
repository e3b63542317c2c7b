#include "extender/forwarder.h"

#include <utility>

#include <fmt/format.h>

namespace stowage::extender {
namespace {

constexpr std::size_t kConnectionsMax = 32;
constexpr std::chrono::seconds kConnectTimeout{2};
constexpr std::size_t kAnswerBytesMax = std::size_t{64} << 20U;

}  // namespace

Forwarder::Forwarder(net::EventLoop& loop, ForwarderOptions options)
    : loop_(loop),
      options_(options),
      leader_{.url = "", .why = "no leader has been heard of yet"},
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
  client_.reset();  // calls under way keep it until they end
  if (leader_.url.empty()) return;
  auto url = net::parse_url(leader_.url);
  if (!url) {
    leader_.why = fmt::format("the leader gives a bad address: {}", url.error().message);
    return;
  }
  if (url->tls && !tls_) {
    leader_.why = "the leader is reached by https, and this replica has no certificates for that";
    return;
  }
  net::HttpClientOptions http;
  http.server = std::move(*url);
  if (http.server.tls) http.tls = tls_;
  http.connections_max = kConnectionsMax;
  http.waiting_max = options_.in_flight_max;
  http.connect_timeout = kConnectTimeout;
  http.body_bytes_max = kAnswerBytesMax;
  client_ = std::make_shared<net::HttpClient>(loop_, std::move(http));
}

void Forwarder::refuse(const std::shared_ptr<net::Responder>& responder, const std::string& why) {
  responder->send({.status = 503,
                   .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
                   .body = why + "\n"});
}

void Forwarder::answered(const std::shared_ptr<net::Responder>& responder,
                         net::HttpResponse reply) {
  ++counters_.forwarded;
  net::HttpResponse answer{.status = reply.status, .body = std::move(reply.body)};
  const std::string type(net::find_header(reply.headers, "Content-Type"));
  if (!type.empty()) answer.headers.emplace_back("Content-Type", type);
  responder->send(std::move(answer));
}

void Forwarder::forward(net::ServerRequest request, std::shared_ptr<net::Responder> responder,
                        NotAsked not_asked) {
  const bool passed_on = !net::find_header(request.http.headers, kForwardedHeader).empty();
  if (passed_on || !client_ || counters_.under_way >= options_.in_flight_max) {
    ++counters_.refused;
    return refuse(responder, passed_on  ? "this replica does not lead any more; ask again"
                             : !client_ ? "this replica does not lead, and " + leader_.why
                                        : "too many questions wait for the leader");
  }
  net::HttpRequest onward{.method = request.http.method,
                          .target = request.http.target,
                          .headers = {{kForwardedHeader, "1"}},
                          .body = not_asked ? request.http.body : std::move(request.http.body)};
  const std::string type(net::find_header(request.http.headers, "Content-Type"));
  if (!type.empty()) onward.headers.emplace_back("Content-Type", type);
  ++counters_.under_way;
  std::shared_ptr<net::HttpClient> client = client_;
  client->send(std::move(onward), options_.deadline,
               [this, alive = alive_, request = std::move(request),
                responder = std::move(responder), not_asked = std::move(not_asked), held = client,
                &loop = loop_](tl::expected<net::HttpResponse, net::CallError> reply) mutable {
                 loop.post([kept = std::move(held)] {});  // it must not end inside of its own call
                 if (!*alive) return;
                 --counters_.under_way;
                 const bool untouched = reply ? reply->status == 503 : !reply.error().sent;
                 if (reply && !untouched) return answered(responder, std::move(*reply));
                 ++counters_.failed;
                 if (untouched && not_asked)
                   return not_asked(std::move(request), std::move(responder));
                 refuse(responder, "this replica does not lead, and the leader cannot be asked: " +
                                       (reply ? reply->body : reply.error().message));
               });
}

}  // namespace stowage::extender
